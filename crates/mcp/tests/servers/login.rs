//! Logins that a client begins: the page, the browser's answer that the client brings, and a server that is connected then.

use super::kit::{configs, deps, run};
use ralph_mcp::{
    ConfiguredServers, Deps, LoginError, LoginLock, LoginStore, ServerError, SessionHandles, SessionServers,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Logins in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<HashMap<String, Value>>>);

impl LoginStore for Memory {
    fn get(&self, key: &str) -> Option<Value> {
        self.0.lock().unwrap().get(key).cloned()
    }

    fn lock(&self) -> Result<Box<dyn LoginLock>, LoginError> {
        Ok(Box::new(self.clone()))
    }
}

impl LoginLock for Memory {
    fn get(&self, key: &str) -> Option<Value> {
        LoginStore::get(self, key)
    }

    fn set(&self, key: &str, login: Option<Value>) -> Result<(), LoginError> {
        let mut all = self.0.lock().unwrap();
        match login {
            Some(login) => drop(all.insert(key.to_owned(), login)),
            None => drop(all.remove(key)),
        }
        Ok(())
    }
}

/// A server that takes one token, and the authorization server of before there were metadata: everything at fixed paths.
async fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::task::spawn_local(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::task::spawn_local(serve(socket));
        }
    });
    address
}

async fn serve(mut socket: TcpStream) {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut piece = [0; 4096];
        let read = socket.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break (head.to_owned(), body.to_owned());
            }
        }
        assert!(read > 0, "cut: {text}");
    };
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, answer) = match path {
        "/register" => (201, json!({"client_id": "c"})),
        "/token" if body.contains("code=good") => (200, json!({"access_token": "t", "token_type": "bearer"})),
        "/token" => (400, json!({"error": "invalid_grant", "error_description": "no such code"})),
        "/mcp" if head.to_lowercase().contains("authorization: bearer t") => (200, rpc(&body)),
        "/mcp" => (401, json!({})),
        _ => (404, json!({})),
    };
    let answer = answer.to_string();
    let kind = "content-type: application/json\r\nconnection: close";
    let page = format!("HTTP/1.1 {status} X\r\n{kind}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
    let _ = socket.write_all(page.as_bytes()).await;
}

fn rpc(body: &str) -> Value {
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}}),
        Some("tools/list") => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
        _ => json!({}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn session(folder: &tempfile::TempDir, url: &str, store: &Memory) -> Rc<SessionServers> {
    let servers = configs(&json!({"s": {"type": "http", "url": format!("{url}/mcp")}}));
    let deps = Deps { logins: Some(Arc::new(store.clone())), ..deps(folder) };
    let handles = SessionHandles {
        deps: Box::new(move || deps.clone()),
        variable: Box::new(|_| None),
        changed: Box::new(|| ()),
        warn: |_| (),
        shows_init: true,
    };
    let session = SessionServers::new(ConfiguredServers { servers, problems: Vec::new(), strict: false }, handles);
    session.start();
    Rc::new(session)
}

#[test]
fn a_client_brings_the_browsers_answer_and_the_server_is_there() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let (url, store) = (service().await, Memory::default());
        let session = session(&folder, &url, &store);
        session.settle().await;
        let status = || session.statuses()[0].status;
        while status() == "pending" {
            tokio::task::yield_now().await;
        }
        assert_eq!(status(), "needs-auth");
        let answer = |page: &Value, code: &str| {
            format!("http://127.0.0.1/callback?code={code}&state={}", page["state"].as_str().unwrap())
        };
        let page = session.authenticate("s").await.unwrap();
        assert!(page["authUrl"].as_str().unwrap().starts_with(&format!("{url}/authorize?")), "{page}");
        // An answer to another login does not end this one.
        let stray = session.take_callback("s", "http://127.0.0.1/callback?code=good&state=guess").await;
        assert!(matches!(stray, Err(ServerError::Login { reason: LoginError::WrongState, .. })), "{stray:?}");
        let refused = session.take_callback("s", &answer(&page, "bad")).await.unwrap_err().to_string();
        assert!(refused.contains("invalid_grant: no such code"), "{refused}");
        assert_eq!((status(), store.0.lock().unwrap().len()), ("needs-auth", 0));
        let page = session.authenticate("s").await.unwrap();
        session.take_callback("s", &answer(&page, "good")).await.unwrap();
        assert_eq!((status(), session.tools().len(), store.0.lock().unwrap().len()), ("connected", 1, 1));
        session.clear_login("s").await.unwrap();
        assert_eq!((status(), store.0.lock().unwrap().len()), ("needs-auth", 0));
        assert!(session.take_callback("s", &answer(&page, "good")).await.is_err(), "nothing waits any more");
        assert!(session.authenticate("nobody").await.is_err());
    });
}
