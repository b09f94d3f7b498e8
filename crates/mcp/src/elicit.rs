//! A server that wants to ask the user something.
//!
//! rmcp's side may move between threads, whoever can ask the user lives on one: questions go over a channel. Nobody
//! there to ask means that the question is declined.

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use std::rc::Rc;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::oneshot;

/// Questions of one server that wait; one that asks more waits itself.
pub(crate) const QUESTIONS: usize = 8;

/// The way to the user.
pub trait Elicit {
    /// Asks; `{"action": "accept" | "decline" | "cancel", "content"?}`. Dropping the future withdraws the question.
    fn ask(&self, server: &str, question: Value) -> LocalBoxFuture<'static, Value>;
}

/// A question and where its answer goes.
pub(crate) struct Question {
    asked: Value,
    answer: oneshot::Sender<Value>,
}

/// In the words of the control protocol.
fn in_words(params: ElicitRequestParams) -> Value {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            json!({"mode": "form", "message": message, "requested_schema": requested_schema})
        }
        ElicitRequestParams::UrlElicitationParams { message, url, elicitation_id, .. } => {
            json!({"mode": "url", "message": message, "url": url, "elicitation_id": elicitation_id})
        }
        _ => Value::Null,
    }
}

/// On rmcp's side.
pub(crate) async fn ask(questions: Option<&Sender<Question>>, params: ElicitRequestParams) -> ElicitResult {
    let declined = ElicitResult::new(ElicitationAction::Decline);
    let (Some(questions), asked @ Value::Object(_)) = (questions, in_words(params)) else { return declined };
    let (answer, answered) = oneshot::channel();
    if questions.send(Question { asked, answer }).await.is_err() {
        return declined;
    }
    let Ok(answer) = answered.await else { return declined };
    match (answer["action"].as_str(), &answer["content"]) {
        (Some("accept"), Value::Null) => ElicitResult::new(ElicitationAction::Accept),
        (Some("accept"), content) => ElicitResult::new(ElicitationAction::Accept).with_content(content.clone()),
        (Some("cancel"), _) => ElicitResult::new(ElicitationAction::Cancel),
        _ => declined,
    }
}

/// On the user's side: asks until the server is gone. A question that nobody waits for any more is withdrawn.
pub(crate) async fn serve(server: String, user: Rc<dyn Elicit>, mut questions: Receiver<Question>) {
    let mut waiting = FuturesUnordered::new();
    loop {
        tokio::select! {
            question = questions.recv() => {
                let Some(Question { asked, mut answer }) = question else { return };
                let asking = user.ask(&server, asked);
                waiting.push(async move {
                    tokio::select! {
                        said = asking => drop(answer.send(said)),
                        () = answer.closed() => {}
                    }
                });
            }
            Some(()) = waiting.next() => {}
        }
    }
}
