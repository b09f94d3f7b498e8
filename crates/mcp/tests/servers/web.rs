//! A web server by hand: every connection carries one request, every path is another kind of server.

use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

#[derive(Default)]
pub struct Web {
    /// `METHOD path rpc-method` of each request.
    pub seen: RefCell<Vec<String>>,
    /// The `authorization` header of each.
    pub keys: RefCell<Vec<String>>,
    /// Requests that `/flaky` still refuses.
    pub refusals: Cell<u32>,
    /// Into the open stream of `/sse`; taking it ends the stream.
    pub stream: RefCell<Option<UnboundedSender<String>>>,
    pub address: RefCell<String>,
}

struct Request {
    method: String,
    path: String,
    headers: String,
    body: Value,
}

impl Web {
    /// Serves until the test ends.
    pub async fn start() -> Rc<Self> {
        let web = Rc::new(Self::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        *web.address.borrow_mut() = format!("http://{}", listener.local_addr().unwrap());
        let serving = web.clone();
        tokio::task::spawn_local(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::task::spawn_local(serving.clone().serve(socket));
            }
        });
        web
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address.borrow())
    }

    pub fn count(&self, what: &str) -> usize {
        self.seen.borrow().iter().filter(|seen| *seen == what).count()
    }

    async fn serve(self: Rc<Self>, mut socket: TcpStream) {
        let Some(request) = read(&mut socket).await else { return };
        let rpc = request.body["method"].as_str().unwrap_or("-");
        self.seen.borrow_mut().push(format!("{} {} {rpc}", request.method, request.path));
        let key = request.headers.lines().find_map(|line| line.strip_prefix("authorization: "));
        self.keys.borrow_mut().push(key.unwrap_or_default().to_owned());
        let socket = &mut socket;
        match (request.method.as_str(), request.path.as_str()) {
            (_, "/wants-key") => plain(socket, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "").await,
            (_, "/wants-key-quietly") => plain(socket, "401 Unauthorized", "", "no key").await,
            (_, "/gone") => plain(socket, "404 Not Found", "", "nothing here").await,
            (_, "/page") => plain(socket, "200 OK", "Content-Type: text/html\r\n", "<p>hello</p>").await,
            (_, "/away") => plain(socket, "307 Temporary Redirect", "Location: http://127.0.0.1:1/mcp\r\n", "").await,
            (_, "/moved") => plain(socket, "307 Temporary Redirect", "Location: /mcp\r\n", "").await,
            ("POST", "/flaky") if self.refusals.get() > 0 => {
                self.refusals.set(self.refusals.get() - 1);
                plain(socket, "503 Service Unavailable", "", "warming up").await;
            }
            ("POST", "/mcp" | "/flaky") => self.streamable(socket, &request).await,
            ("DELETE", _) => plain(socket, "200 OK", "", "").await,
            ("GET", "/sse" | "/sse-elsewhere") => self.events(socket, &request.path).await,
            ("POST", "/messages") => {
                let answer = self.stream.borrow().clone().zip(answer(&request.body));
                plain(socket, "202 Accepted", "", "").await;
                if let Some((stream, answer)) = answer {
                    let _ = stream.send(format!("event: message\ndata: {answer}\n\n"));
                }
            }
            _ => plain(socket, "405 Method Not Allowed", "", "").await,
        }
    }

    async fn streamable(&self, socket: &mut TcpStream, request: &Request) {
        let rpc = request.body["method"].as_str().unwrap_or_default();
        let session = request.headers.lines().any(|line| line == "mcp-session-id: s1");
        match (rpc, answer(&request.body)) {
            ("tools/call", Some(_)) if request.body["params"]["name"] == "endless" => {
                let _ = socket
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
                    .await;
                while socket.write_all(&[b' '; 8192]).await.is_ok() {}
            }
            ("tools/call", Some(_)) if !session => plain(socket, "400 Bad Request", "", "no session").await,
            ("tools/call", Some(answer)) => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
                let events = format!("data: {note}\n\nid: 1\ndata: {answer}\n\n");
                plain(socket, "200 OK", "Content-Type: text/event-stream\r\n", &events).await;
            }
            (_, Some(answer)) => {
                let head = "Content-Type: application/json\r\nMcp-Session-Id: s1\r\n";
                plain(socket, "200 OK", head, &answer.to_string()).await;
            }
            (_, None) => plain(socket, "202 Accepted", "", "").await,
        }
    }

    async fn events(&self, socket: &mut TcpStream, path: &str) {
        let (sender, mut events) = unbounded_channel();
        let endpoint = if path == "/sse" { "/messages" } else { "http://127.0.0.1:1/messages" };
        let _ = sender.send(format!(": hello\n\nevent: endpoint\ndata: {endpoint}\n\n"));
        *self.stream.borrow_mut() = Some(sender);
        let _ =
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n").await;
        while let Some(event) = events.recv().await {
            if socket.write_all(event.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn answer(body: &Value) -> Option<Value> {
    let result = match body["method"].as_str()? {
        "initialize" => json!({"protocolVersion": body["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}, {"name": "endless"}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": body["params"]["arguments"]["say"]}]}),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
}

async fn read(socket: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).replace("\r\n", "\n");
            let (first, headers) = head.split_once('\n')?;
            let headers: String = headers
                .lines()
                .map(|line| {
                    let (name, value) = line.split_once(':').unwrap_or((line, ""));
                    format!("{}: {}\n", name.to_lowercase(), value.trim())
                })
                .collect();
            let length =
                headers.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let mut words = first.split(' ');
                let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or(Value::Null);
                return Some(Request { method, path, headers, body });
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn plain(socket: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = socket.write_all(head.as_bytes()).await;
    let _ = socket.write_all(body.as_bytes()).await;
}
