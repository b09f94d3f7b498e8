//! A terminal over a WebSocket, spoken by hand: the handshake, frames of both directions, and who is refused.

use super::http::{Both, connect, head};
use super::world::Server;
use serde_json::{Value, json};
use std::io::{BufReader, Read as _, Write as _};

/// Of the client's frames. Any will do: it is there for proxies.
const MASK: [u8; 4] = [1, 2, 3, 4];

/// The kinds of frames that are looked at.
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;

struct Socket {
    reader: BufReader<Box<dyn Both>>,
}

impl Socket {
    /// The status of the handshake, and the socket where it is 101.
    fn open(server: &Server, path: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut stream = connect(&server.at);
        let mut text = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            server.host
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).expect("a request");
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader).expect("an answer");
        if status != 101 {
            return Err(status);
        }
        // The answer to the key above, as the protocol's own document has it.
        assert!(headers.contains(&("sec-websocket-accept".into(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".into())));
        Ok(Self { reader })
    }

    fn send(&mut self, kind: u8, bytes: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match u16::try_from(bytes.len()) {
            Ok(short @ 0..=125) => frame.push(0x80 | short.to_le_bytes()[0]),
            Ok(middle) => {
                frame.push(0x80 | 0x7e);
                frame.extend(middle.to_be_bytes());
            }
            Err(_) => {
                frame.push(0x80 | 127);
                frame.extend((bytes.len() as u64).to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(bytes.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        // A server that has seen enough may have closed.
        let _ = self.reader.get_mut().write_all(&frame);
    }

    fn say(&mut self, message: &Value) {
        self.send(TEXT, message.to_string().as_bytes());
    }

    /// The next frame: its kind and its bytes; nothing once the connection has ended.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut start = [0; 2];
        self.reader.read_exact(&mut start).ok()?;
        let length = match start[1] & 0x7f {
            126 => {
                let mut long = [0; 2];
                self.reader.read_exact(&mut long).ok()?;
                u64::from(u16::from_be_bytes(long))
            }
            127 => {
                let mut long = [0; 8];
                self.reader.read_exact(&mut long).ok()?;
                u64::from_be_bytes(long)
            }
            short => u64::from(short),
        };
        let mut bytes = vec![0; usize::try_from(length).expect("a length")];
        self.reader.read_exact(&mut bytes).ok()?;
        Some((start[0] & 0x0f, bytes))
    }

    /// The next message in JSON. What the terminal shows before it is added to `shown`.
    fn message(&mut self, shown: &mut String) -> Value {
        loop {
            match self.next() {
                Some((BINARY, bytes)) => shown.push_str(&String::from_utf8_lossy(&bytes)),
                Some((TEXT, bytes)) => return serde_json::from_slice(&bytes).expect("JSON"),
                other => panic!("no message, but {other:?}; shown: {shown}"),
            }
        }
    }

    fn until_shown(&mut self, text: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(text) {
            match self.next() {
                Some((BINARY, bytes)) => shown.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("'{text}' was never shown, but {other:?} came; shown: {shown}"),
            }
        }
        shown
    }
}

fn started(server: &Server, script: &str, tty: bool) -> String {
    let answer = server.post("/v1/processes", &json!({"command": "sh", "args": ["-c", script], "tty": tty}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_terminal_is_shown_typed_into_resized_and_ended() {
    let server = Server::start(&["--allow-exec"]);
    let id = started(&server, "echo ready; read line; echo got:$line; stty size; exit 3", true);
    let path = format!("/v1/processes/{id}/terminal/ws?access_token={}", server.full);
    let mut socket = Socket::open(&server, &path, &[]).expect("a socket");
    assert_eq!(socket.message(&mut String::new()), json!({"type": "ready", "processId": id}));
    socket.until_shown("ready");
    socket.say(&json!({"type": "resize", "cols": 100, "rows": 40}));
    socket.send(TEXT, b"nonsense");
    assert_eq!(socket.message(&mut String::new())["type"], "error", "and the terminal stays");
    socket.say(&json!({"type": "input", "data": "aGVsbG8K", "encoding": "base64"}));
    let mut shown = String::new();
    assert_eq!(socket.message(&mut shown), json!({"type": "exit", "exitCode": 3}));
    assert!(shown.contains("got:hello") && shown.contains("40 100"), "{shown}");
    assert_eq!(socket.next().map(|(kind, _)| kind), Some(CLOSE));
    // Whoever comes later sees all of it.
    let mut late = Socket::open(&server, &path, &[]).expect("a socket");
    assert_eq!(late.message(&mut String::new())["type"], "ready");
    let mut shown = String::new();
    assert_eq!(late.message(&mut shown)["type"], "exit");
    assert!(shown.contains("ready") && shown.contains("got:hello"), "{shown}");
}

#[test]
fn two_watch_one_terminal_and_it_outlives_them() {
    let server = Server::start(&["--allow-exec"]);
    let id = started(&server, "while read line; do echo got:$line; done", true);
    let path = format!("/v1/processes/{id}/terminal/ws?access_token={}", server.full);
    let mut one = Socket::open(&server, &path, &[]).expect("a socket");
    let mut other = Socket::open(&server, &path, &[]).expect("a socket");
    for socket in [&mut one, &mut other] {
        assert_eq!(socket.message(&mut String::new())["type"], "ready");
    }
    one.say(&json!({"type": "input", "data": "first\n"}));
    other.until_shown("got:first");
    other.say(&json!({"type": "close"}));
    assert!(other.next().is_none_or(|(kind, _)| kind == CLOSE));
    one.until_shown("got:first");
    one.say(&json!({"type": "input", "data": "second\n"}));
    one.until_shown("got:second");
    // More than anybody pastes ends the connection, not the process.
    one.send(TEXT, &vec![b'x'; 300 * 1024]);
    while one.next().is_some_and(|(kind, _)| kind != CLOSE) {}
    assert_eq!(server.get(&format!("/v1/processes/{id}")).json()["status"], "running");
    let ended = server.post(&format!("/v1/processes/{id}/kill?waitMs=10000"), &json!({})).json();
    assert_eq!(ended["status"], "exited", "{ended}");
}

#[test]
fn a_terminal_is_only_for_those_who_may() {
    let server = Server::start(&["--allow-exec"]);
    let id = started(&server, "cat", true);
    let plain = started(&server, "sleep 60", false);
    let path = format!("/v1/processes/{id}/terminal/ws");
    let full = format!("Bearer {}", server.full);
    let refused = |path: &str, headers: &[(&str, &str)]| Socket::open(&server, path, headers).err();
    assert_eq!(refused(&path, &[]), Some(401));
    assert_eq!(refused(&format!("{path}?access_token=wrong"), &[]), Some(401));
    assert_eq!(refused(&format!("{path}?access_token={}", server.read), &[]), Some(403), "the read-only token");
    let foreign = [("Origin", "http://evil.test"), ("Authorization", full.as_str())];
    assert_eq!(refused(&path, &foreign), Some(403), "a page of somebody else's");
    let of_plain = format!("/v1/processes/{plain}/terminal/ws");
    assert_eq!(refused(&of_plain, &[("Authorization", &full)]), Some(409), "it has no terminal");
    assert_eq!(refused("/v1/processes/none/terminal/ws", &[("Authorization", &full)]), Some(404));
    assert!(Socket::open(&server, &path, &[("Authorization", &full)]).is_ok());
}
