//! Servers in the client's own process.

use crate::kit::{call, configs, deps, eventually, run, status, text, with_link};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use ralph_mcp::{HostError, SdkLink, ServerConfig, Servers};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// Plays the client: keeps what it is sent, answers like the SDKs.
#[derive(Clone, Default)]
struct Client {
    heard: Rc<RefCell<Vec<(String, Value)>>>,
    dropped: Rc<RefCell<usize>>,
}

struct Pending(Rc<RefCell<usize>>);

impl Drop for Pending {
    fn drop(&mut self) {
        *self.0.borrow_mut() += 1;
    }
}

impl Client {
    fn methods(&self) -> Vec<String> {
        self.heard
            .borrow()
            .iter()
            .map(|(_, message)| message["method"].as_str().unwrap_or("answer").to_owned())
            .collect()
    }
}

impl SdkLink for Client {
    fn send(&self, server: &str, message: Value) -> LocalBoxFuture<'static, Result<Value, HostError>> {
        self.heard.borrow_mut().push((server.to_owned(), message.clone()));
        let dropped = self.dropped.clone();
        let name = message["params"]["name"].clone();
        let result = match (message["method"].as_str().unwrap_or_default(), name.as_str().unwrap_or_default()) {
            ("initialize", _) => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "inside", "version": "1.0.0"}})
            }
            ("tools/list", _) => {
                json!({"tools": [{"name": "greet", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"}},
                {"name": "hang"}, {"name": "broken"}]})
            }
            ("tools/call", "greet") => json!({"content": [{"type": "text", "text": format!("hello from {server}")}]}),
            ("tools/call", "broken") => return async { Err("the client threw".into()) }.boxed_local(),
            ("tools/call", _) => {
                return async move {
                    let _pending = Pending(dropped);
                    std::future::pending().await
                }
                .boxed_local();
            }
            // An acknowledgement, as one SDK sends it: its id is nobody's.
            _ => return async { Ok(json!({"jsonrpc": "2.0", "id": 0, "result": {}})) }.boxed_local(),
        };
        async move { Ok(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})) }.boxed_local()
    }
}

async fn connected(client: &Client, folder: &tempfile::TempDir) -> Servers {
    let servers = Servers::new(with_link(folder, client.clone()));
    // One client announces a server in both ways it knows.
    servers.start(configs(&json!({"srv": {"type": "sdk", "name": "srv"}})));
    servers.start(vec![ServerConfig::sdk("srv", "dynamic")]);
    servers.ready().await;
    servers
}

#[test]
fn its_tools_are_used_through_the_client() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let client = Client::default();
        let servers = connected(&client, &folder).await;
        assert_eq!(servers.statuses().len(), 1);
        let status = status(&servers, "srv");
        assert_eq!((status.status, &*status.source), ("connected", "sdk"));
        assert!(servers.tools()[0].read_only);
        assert_eq!(call(&servers, "mcp__srv__greet").await, "hello from srv");
        assert_eq!(client.methods()[..4], ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
        let ids: Vec<Value> =
            client.heard.borrow().iter().map(|(_, message)| message["id"].clone()).filter(|id| !id.is_null()).collect();
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), ids.len(), "{ids:?}");
        let broken = servers.call("mcp__srv__broken", json!({})).await.unwrap_err().to_string();
        assert!(broken.contains("the client threw"), "{broken}");
    });
}

#[test]
fn an_abandoned_call_is_cancelled_and_its_question_dropped() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let client = Client::default();
        let servers = connected(&client, &folder).await;
        tokio::select! {
            ended = servers.call("mcp__srv__hang", json!({})) => panic!("{ended:?}"),
            () = eventually(|| client.methods().iter().any(|method| method == "tools/call")) => {}
        }
        eventually(|| client.methods().iter().any(|method| method == "notifications/cancelled")).await;
        eventually(|| *client.dropped.borrow() == 1).await;
        let both = tokio::join!(servers.call("mcp__srv__greet", json!({})), servers.call("mcp__srv__greet", json!({})));
        assert_eq!((text(&both.0.unwrap()), text(&both.1.unwrap())), ("hello from srv", "hello from srv"));
    });
}

#[test]
fn it_may_speak_unasked() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let client = Client::default();
        let servers = connected(&client, &folder).await;
        let lists = || client.methods().iter().filter(|method| *method == "tools/list").count();
        servers.deliver("srv", json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        eventually(|| lists() == 2).await;
        servers.deliver("srv", json!({"jsonrpc": "2.0", "id": "r1", "method": "roots/list"}));
        eventually(|| client.methods().iter().any(|method| method == "answer")).await;
        let answer = client.heard.borrow().iter().find(|(_, message)| message["id"] == "r1").unwrap().1.clone();
        assert_eq!(answer["result"]["roots"][0]["uri"], "file:///the%20work");
        servers.deliver("nobody", json!({}));
        servers.deliver("srv", json!("rubbish"));
        servers.shutdown().await;
    });
}

#[test]
fn without_a_way_to_the_client_it_fails_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let servers = Servers::new(deps(&folder));
        servers.start(vec![ServerConfig::sdk("srv", "dynamic")]);
        servers.ready().await;
        let status = status(&servers, "srv");
        assert_eq!(status.status, "failed");
        assert!(status.error.unwrap().contains("lives in the client"));
    });
}
