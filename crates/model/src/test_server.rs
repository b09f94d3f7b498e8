//! A loopback server for tests that writes exactly the bytes it is told, one answer a request.

use crate::{Auth, Backoff, Client, ClientConfig, Request, Secret, Timeouts};
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What to do with one request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Write, then close.
    Close(Vec<u8>),
    /// Write, then wait for the next request.
    Keep(Vec<u8>),
    /// Write, then neither speak nor close.
    Hang(Vec<u8>),
    /// Write, then repeat the second part for as long as the client listens.
    Repeat(Vec<u8>, &'static [u8]),
    /// Write byte by byte, then close.
    Drip(Vec<u8>),
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) requests: Vec<String>,
    pub(crate) connections: usize,
}

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

type Script = Arc<Mutex<VecDeque<Answer>>>;

impl Server {
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::serve(answers, "http", talk)
    }

    /// The same behind a certificate that only `fixtures/ca.pem` vouches for.
    pub(crate) fn start_tls(answers: impl IntoIterator<Item = Answer>) -> Self {
        let certificate = rustls::pki_types::CertificateDer::from_pem_slice(include_bytes!("../fixtures/leaf.pem"));
        let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(include_bytes!("../fixtures/leaf.key"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap()], key.unwrap())
            .unwrap();
        let config = Arc::new(config);
        Self::serve(answers, "https", move |socket, script, seen| {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            talk(rustls::StreamOwned::new(session, socket), script, seen);
        })
    }

    fn serve(
        answers: impl IntoIterator<Item = Answer>,
        scheme: &str,
        talk: impl Fn(TcpStream, &Script, &Mutex<Seen>) + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let script: Script = Arc::new(Mutex::new(answers.into_iter().collect()));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                shared.lock().unwrap().connections += 1;
                let (script, seen, talk) = (script.clone(), shared.clone(), talk.clone());
                thread::spawn(move || talk(socket, &script, &seen));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// Millisecond waits, so that tests of retries and stalls are quick.
    pub(crate) fn config(&self) -> ClientConfig {
        ClientConfig {
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                first_byte: Duration::from_secs(5),
                idle: Duration::from_secs(5),
                event: Duration::from_secs(5),
                total: Duration::from_secs(20),
            },
            backoff: Backoff {
                first: Duration::from_millis(1),
                longest: Duration::from_millis(2),
                longest_asked: Duration::from_mins(5),
            },
            ..ClientConfig::new(&self.url, Auth::ApiKey(Secret::new("sk-ant-secret-key")))
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.config()).unwrap()
    }
}

fn talk(mut socket: impl Read + Write, script: &Script, seen: &Mutex<Seen>) {
    while let Some(request) = read_request(&mut socket) {
        seen.lock().unwrap().requests.push(request);
        let answer = script.lock().unwrap().pop_front();
        // A client may stop listening whenever it likes.
        let wrote = match &answer {
            Some(Answer::Close(bytes) | Answer::Keep(bytes) | Answer::Hang(bytes)) => socket.write_all(bytes),
            Some(Answer::Drip(bytes)) => bytes.chunks(1).try_for_each(|byte| socket.write_all(byte)),
            Some(Answer::Repeat(bytes, again)) => {
                let mut wrote = socket.write_all(bytes);
                while wrote.is_ok() {
                    thread::sleep(Duration::from_millis(2));
                    wrote = socket.write_all(again).and_then(|()| socket.flush());
                }
                wrote
            }
            None => return,
        };
        let _ = wrote.and_then(|()| socket.flush());
        match answer {
            Some(Answer::Keep(_)) => {}
            Some(Answer::Hang(_)) => drop(socket.read(&mut [0; 1])),
            _ => return,
        }
    }
}

fn read_request(socket: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0; 1];
    while !bytes.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    socket.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

/// A response that ends with its connection.
pub(crate) fn response(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\nrequest-id: req_9\r\n{headers}connection: close\r\n\r\n{body}").into_bytes()
}

pub(crate) fn stream(body: &str) -> Vec<u8> {
    response(200, "content-type: text/event-stream; charset=utf-8\r\n", body)
}

/// A response that leaves its connection usable.
pub(crate) fn reusable(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
        .into_bytes()
}

/// A recorded answer: a text and a tool call, with blanks, a ping and an escape in it.
pub(crate) const ANSWER: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Héllo \\u00e9\"}   }\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\": \\\"ls\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":25}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

pub(crate) fn request() -> Request {
    Request {
        model: "m".into(),
        max_tokens: 100,
        messages: Arc::new(vec![json!({"role":"user","content":"hi"})]),
        ..Request::default()
    }
}
