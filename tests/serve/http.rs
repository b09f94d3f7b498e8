//! HTTP/1.1 by hand, on TCP or a Unix socket.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub enum At {
    Port(u16),
    Socket(PathBuf),
}

pub trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}

pub fn connect(at: &At) -> Box<dyn Both> {
    match at {
        At::Port(port) => {
            let stream = TcpStream::connect(("127.0.0.1", *port)).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            Box::new(stream)
        }
        At::Socket(path) => {
            let stream = UnixStream::connect(path).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            Box::new(stream)
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.text()))
    }
}

/// Reads the head of an answer: its status and headers.
pub fn head(reader: &mut impl std::io::BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status =
        line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok((status, headers)) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// One request with exactly these headers.
pub fn raw(at: &At, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = connect(at);
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).expect("a request");
    // A server that refuses by the head may close before the body is there.
    let _ = stream.write_all(body);
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader).expect("an answer");
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse::<usize>().ok());
    let mut body = Vec::new();
    if let Some(length) = length {
        body.resize(length, 0);
        if method != "HEAD" {
            reader.read_exact(&mut body).expect("a body");
        }
    } else {
        let _ = reader.read_to_end(&mut body);
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            body = unchunked(&body);
        }
    }
    Answer { status, headers, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&bytes[..end]).trim(), 16).unwrap_or(0);
        bytes = &bytes[end + 2..];
        if size == 0 || bytes.len() < size {
            break;
        }
        whole.extend_from_slice(&bytes[..size]);
        bytes = bytes.get(size + 2..).unwrap_or_default();
    }
    whole
}

/// An event stream that is read piece by piece.
pub struct Events {
    reader: BufReader<Box<dyn Both>>,
    pub status: u16,
    line: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sent {
    pub event: String,
    pub id: String,
    pub data: String,
}

impl Sent {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("an event's data")
    }
}

impl Events {
    pub fn open(at: &At, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut stream = connect(at);
        let mut text = format!("GET {path} HTTP/1.1\r\nAccept: text/event-stream\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        stream.write_all(text.as_bytes()).expect("a request");
        let mut reader = BufReader::new(stream);
        let (status, _) = head(&mut reader).expect("an answer");
        Self { reader, status, line: String::new() }
    }

    /// The next event; nothing at the end. Chunks' sizes stand on lines of their own, and no field looks like one.
    pub fn next(&mut self) -> Option<Sent> {
        let mut sent = Sent::default();
        loop {
            self.line.clear();
            if self.reader.read_line(&mut self.line).ok()? == 0 {
                return None;
            }
            let line = self.line.trim_end_matches(['\r', '\n']);
            match line.split_once(": ").or_else(|| line.split_once(':')) {
                Some(("event", value)) => value.clone_into(&mut sent.event),
                Some(("id", value)) => value.clone_into(&mut sent.id),
                Some(("data", value)) => value.clone_into(&mut sent.data),
                _ if line.is_empty() && !sent.data.is_empty() => return Some(sent),
                _ => {}
            }
        }
    }

    /// Up to the first event that fits, with it.
    pub fn until(&mut self, fits: impl Fn(&Sent) -> bool) -> Vec<Sent> {
        let mut all = Vec::new();
        while let Some(sent) = self.next() {
            all.push(sent);
            if fits(&all[all.len() - 1]) {
                return all;
            }
        }
        panic!("the stream ended before it came: {all:#?}");
    }
}
