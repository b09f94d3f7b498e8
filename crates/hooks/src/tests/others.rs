//! Callbacks, web addresses, conditions, and hooks in the background.

use super::{Bench, PATIENCE, command, hooks};
use crate::{AskError, Callbacks, Decision, HookEvent, HookRun, Hooks};
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, pending};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers by id, and remembers what it was asked.
#[derive(Default)]
struct Client(RefCell<Vec<Value>>);

impl Callbacks for Client {
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, AskError>> {
        self.0.borrow_mut().push(json!([callback_id, input["hook_event_name"], tool_use_id]));
        let answer = match callback_id {
            "allow" => {
                Ok(json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}))
            }
            "ask" => Ok(json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}})),
            "none" => Ok(json!({})),
            "silent" => return pending().boxed_local(),
            "late" => {
                return async move {
                    tokio::time::sleep(timeout).await;
                    Err(AskError::host("too late"))
                }
                .boxed_local();
            }
            _ => Err(AskError::host("stream closed")),
        };
        async move { answer }.boxed_local()
    }
}

async fn asked(bench: &Bench, groups: Value) -> (crate::HookAnswer, Vec<Value>) {
    let client = Client::default();
    let mut list = Hooks::default();
    list.set_callbacks(&json!({"PreToolUse": groups}));
    let fields = json!({"tool_name": "Bash", "tool_input": {}});
    let verdict = bench.fire_with(&list, HookEvent::PreToolUse, Some("Bash"), fields, Some(&client)).await;
    (verdict, client.0.into_inner())
}

#[tokio::test]
async fn callbacks_are_asked_and_the_strictest_answer_wins() {
    let groups = json!([
        {"matcher": "^(?!(Glob|Grep)$).*", "hookCallbackIds": ["allow", "ask"]},
        {"matcher": "Glob", "hookCallbackIds": ["none"]},
    ]);
    let (verdict, calls) = asked(&Bench::new(), groups).await;
    assert_eq!(verdict.decision, Some(Decision::Ask));
    assert_eq!(calls, [json!(["allow", "PreToolUse", "toolu_1"]), json!(["ask", "PreToolUse", "toolu_1"])]);
}

#[tokio::test]
async fn a_client_that_fails_blocks_only_what_it_guards() {
    for (group, decision) in [
        (json!({"hookCallbackIds": ["none"]}), None),
        (json!({"hookCallbackIds": ["broken"]}), None),
        (json!({"hookCallbackIds": ["broken"], "onFailure": "block"}), Some(Decision::Deny)),
        (json!({"hookCallbackIds": ["broken"], "onFailure": "continue"}), None),
        (json!({"hookCallbackIds": ["silent"], "timeout": 0.05}), Some(Decision::Deny)),
        (json!({"hookCallbackIds": ["late"], "timeout": 0.05}), Some(Decision::Deny)),
    ] {
        let (verdict, _) = asked(&Bench::new(), json!([group])).await;
        assert_eq!(verdict.decision, decision, "{group}");
        assert_eq!(verdict.blocked.is_some(), decision.is_some(), "{group}");
    }
}

#[tokio::test]
async fn without_a_client_a_callback_is_a_failure() {
    let mut list = Hooks::default();
    list.set_callbacks(&json!({"Stop": [{"hookCallbackIds": ["a"]}]}));
    let verdict = Bench::new().fire(&list, HookEvent::Stop, None, json!({})).await;
    assert_eq!((verdict.blocked, verdict.errors.len()), (None, 1));
}

/// Answers one request, and returns it.
async fn serve_once(listener: TcpListener, answer: String) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !String::from_utf8_lossy(&request).trim_end().ends_with('}') {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(read > 0, "the request ended early");
        request.extend_from_slice(&chunk[..read]);
    }
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    String::from_utf8(request).unwrap()
}

#[tokio::test]
async fn an_address_is_asked_with_permitted_variables_only() {
    let bench = Bench::new().set("TOKEN", "t0p").set("SECRET", "hidden");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let body = r#"{"decision":"block","reason":"the server says no"}"#;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let list = hooks(
        "PreToolUse",
        &json!([{
            "type": "http", "url": url, "allowedEnvVars": ["TOKEN"],
            "headers": {"Authorization": "Bearer $TOKEN", "X-Other": "<${SECRET}>"},
        }]),
    );
    let (verdict, request) = tokio::join!(bench.bash(&list, "ls"), serve_once(listener, answer));
    assert_eq!(verdict.blocked.as_deref(), Some("the server says no"));
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer t0p\r\n") && request.contains("x-other: <>\r\n"), "{request}");
    assert!(request.contains("\"command\":\"ls\"") && !request.contains("hidden"), "{request}");
}

#[tokio::test]
async fn an_address_that_nobody_answers_decides_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let verdict = Bench::new().bash(&hooks("PreToolUse", &json!([{"type": "http", "url": url}])), "ls").await;
    assert_eq!((verdict.decision, verdict.errors.len()), (None, 1));
}

#[tokio::test]
async fn a_condition_is_a_permission_rule() {
    let bash = |command: &str| ("Bash", json!({"command": command}));
    let edit = |path: &str| ("Edit", json!({"file_path": path}));
    for (rule, (tool, input), runs) in [
        ("Bash(git push:*)", bash("git push origin"), true),
        ("Bash(git push:*)", bash("git status"), false),
        ("Bash(git push:*)", bash("true && FOO=1 git push -f"), true),
        ("Bash(git push:*)", bash("echo $("), true),
        ("Bash", bash("ls"), true),
        ("Edit", bash("ls"), false),
        ("Edit(src/**)", edit("src/a.rs"), true),
        ("Edit(/src/**)", edit("src/a.rs"), true),
        ("Edit(src/**)", edit("docs/a.md"), false),
        ("Bash(git push:*)", edit("src/a.rs"), false),
        ("Bash(", edit("src/a.rs"), true),
    ] {
        let bench = Bench::new();
        let handler = json!({"type": "command", "command": "exit 2", "if": rule});
        let (list, _) = Hooks::from_settings(&json!({"PreToolUse": [{"hooks": [handler]}]}), "test");
        let fields = json!({"tool_name": tool, "tool_input": input});
        let verdict = bench.fire(&list, HookEvent::PreToolUse, Some(tool), fields).await;
        assert_eq!(verdict.blocked.is_some(), runs, "{rule} for {tool} {input}");
    }
}

#[tokio::test]
async fn a_condition_where_there_is_no_call_never_holds() {
    let list = hooks("Stop", &json!([{"type": "command", "command": "exit 2", "if": "Bash"}]));
    let verdict = Bench::new().fire(&list, HookEvent::Stop, None, json!({})).await;
    assert_eq!(verdict.blocked, None);
}

#[tokio::test]
async fn a_background_hook_is_heard_later() {
    let bench = Bench::new();
    let script = "until [ -e go ]; do sleep 0.01; done; echo '{\"systemMessage\":\"done\"}'";
    let list = hooks("PreToolUse", &json!([{"type": "command", "command": script, "async": true}]));
    let verdict = bench.bash(&list, "ls").await;
    assert_eq!(verdict, crate::HookAnswer::default());
    assert_eq!(bench.outcomes(), ["started"]);
    assert!(list.take_finished().is_empty());
    std::fs::write(bench.project.join("go"), "").unwrap();
    let heard = async {
        loop {
            if let Some(finished) = list.take_finished().pop() {
                return finished;
            }
            tokio::task::yield_now().await;
        }
    };
    let finished = tokio::time::timeout(PATIENCE, heard).await.expect("the hook to end");
    assert_eq!(finished.verdict.messages, ["done"]);
    assert!(matches!(&finished.news, HookRun::Response { outcome: "success", hook_id, .. } if hook_id == "h1"));
    assert!(list.end_background().await.is_empty());
}

#[tokio::test]
async fn background_hooks_end_with_the_run() {
    let bench = Bench::new();
    let list = hooks("PreToolUse", &json!([{"type": "command", "command": "exec sleep 600", "async": true}]));
    bench.bash(&list, "ls").await;
    // A client that sends its hooks again makes a new list; what runs is not forgotten.
    let mut again = list.clone();
    again.set_callbacks(&json!({}));
    let news = tokio::time::timeout(PATIENCE, again.end_background()).await.expect("the hook to be ended");
    assert!(matches!(&news[..], [HookRun::Response { outcome: "cancelled", .. }]), "{news:?}");
}

#[tokio::test]
async fn background_hooks_are_limited_in_number() {
    let bench = Bench::new();
    let many: Vec<Value> =
        (0..33).map(|n| json!({"type": "command", "command": format!("exec sleep 60{n}"), "async": true})).collect();
    let list = hooks("PreToolUse", &json!(many));
    let verdict = bench.bash(&list, "ls").await;
    assert_eq!(verdict.errors.len(), 1, "{:?}", verdict.errors);
    assert_eq!(list.end_background().await.len(), 32);
}

#[tokio::test]
async fn settings_and_callbacks_are_heard_together() {
    let bench = Bench::new();
    let client = Client::default();
    let mut list = hooks("PreToolUse", &json!([command("echo no >&2; exit 2")]));
    list.add(hooks("PreToolUse", &json!([command("true")])));
    list.set_callbacks(&json!({"PreToolUse": [{"hookCallbackIds": ["allow"]}]}));
    let fields = json!({"tool_name": "Bash", "tool_input": {}});
    let verdict = bench.fire_with(&list, HookEvent::PreToolUse, Some("Bash"), fields, Some(&client)).await;
    assert_eq!((verdict.decision, verdict.blocked.as_deref()), (Some(Decision::Deny), Some("no")));
    assert_eq!(bench.outcomes().len(), 6);
}
