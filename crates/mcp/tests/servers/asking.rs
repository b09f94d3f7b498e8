//! What a server may ask of people, and what people may ask of it.

use crate::kit::{call, deps, eventually, run, started, stdio};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use ralph_mcp::Deps;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Plays the user: says who they are, or never answers.
struct User {
    answer: Option<Value>,
    asked: Rc<RefCell<Vec<Value>>>,
    withdrawn: Rc<Cell<bool>>,
}

struct Withdrawn(Rc<Cell<bool>>);

impl Drop for Withdrawn {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

impl ralph_mcp::Elicit for User {
    fn ask(&self, server: &str, question: Value) -> LocalBoxFuture<'static, Value> {
        self.asked.borrow_mut().push(json!([server, question]));
        let (answer, withdrawn) = (self.answer.clone(), Withdrawn(self.withdrawn.clone()));
        async move {
            if let Some(answer) = answer {
                return answer;
            }
            let _withdrawn = withdrawn;
            std::future::pending().await
        }
        .boxed_local()
    }
}

#[test]
fn a_question_to_the_user_is_asked_and_its_answer_goes_back() {
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"name": "Ada"}}), r#"{"action":"accept","content":{"name":"Ada"}}"#),
        (json!({"action": "decline"}), r#"{"action":"decline"}"#),
        (json!({"action": "cancel"}), r#"{"action":"cancel"}"#),
        (json!({"odd": 1}), r#"{"action":"decline"}"#),
    ] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let asked = Rc::new(RefCell::default());
            let user = User { answer: Some(answer), asked: Rc::clone(&asked), withdrawn: Rc::default() };
            let servers = started(Deps { user: Some(Rc::new(user)), ..deps(&folder) }, &json!({"s": stdio("")})).await;
            assert_eq!(call(&servers, "mcp__s__question").await, expected);
            let asked = asked.borrow()[0].clone();
            assert_eq!(
                (&asked[0], &asked[1]["message"], &asked[1]["mode"]),
                (&json!("s"), &json!("Who are you?"), &json!("form"))
            );
            assert_eq!(asked[1]["requested_schema"]["required"], json!(["name"]));
        });
    }
}

#[test]
fn without_anybody_to_ask_no_server_is_told_that_it_may() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("")})).await;
        assert_eq!(call(&servers, "mcp__s__question").await, "question");
    });
}

#[test]
fn a_question_of_a_server_that_goes_is_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let (asked, withdrawn) = (Rc::new(RefCell::default()), Rc::new(Cell::new(false)));
        let user = User { answer: None, asked: Rc::clone(&asked), withdrawn: Rc::clone(&withdrawn) };
        let servers = started(Deps { user: Some(Rc::new(user)), ..deps(&folder) }, &json!({"s": stdio("")})).await;
        tokio::select! {
            ended = servers.call("mcp__s__question", json!({})) => panic!("{ended:?}"),
            () = eventually(|| !asked.borrow().is_empty()) => {}
        }
        servers.shutdown().await;
        eventually(|| withdrawn.get()).await;
    });
}

#[test]
fn prompts_are_listed_called_and_listed_anew() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("")})).await;
        let prompts = servers.prompts();
        assert_eq!((prompts.len(), prompts[0].full_name.as_str()), (1, "mcp__s__review"));
        assert_eq!((prompts[0].hint().as_str(), prompts[0].description.as_str()), ("<file> [how]", "reviews a file"));
        let words = ["a.rs", "with", "care"].map(str::to_owned);
        let blocks = servers.prompt(&prompts[0], &words).await.unwrap();
        assert_eq!(blocks[0]["text"], r#"Review with {"file":"a.rs","how":"with care"}"#);
        assert_eq!(
            servers.prompt(&prompts[0], &[]).await.unwrap_err().to_string(),
            "/mcp__s__review needs <file> [how]"
        );
        call(&servers, "mcp__s__grow").await;
        eventually(|| servers.prompts().len() == 2).await;
    });
}
