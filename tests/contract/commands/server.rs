//! `ralph mock` as a process of its own, spoken to over a plain socket.
#![expect(
    clippy::disallowed_methods,
    reason = "the server must run beside the test; `testkit` runs things to their end"
)]

use crate::common::binary;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Server {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    pub address: String,
    pub folder: tempfile::TempDir,
    /// What it printed before it was ready.
    pub greeting: Vec<String>,
}

/// An answer, byte by byte as far as tests care.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// Sizes of the pieces of a chunked body.
    pub pieces: Vec<usize>,
    /// It came to its announced end.
    pub is_whole: bool,
    pub took: Duration,
}

impl Server {
    pub fn start(script: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("script.json"), script.to_string()).expect("the script");
        let mut child = Command::new(binary())
            .args(["mock", "script.json", "--log", "requests.ndjson"])
            .current_dir(folder.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        let mut greeting = vec![String::new(), String::new()];
        for line in &mut greeting {
            stdout.read_line(line).expect("a line");
            *line = line.trim_end().to_owned();
        }
        let address = greeting[0].strip_prefix("http://").unwrap_or_else(|| panic!("{greeting:?}")).to_owned();
        Self { child, _stdout: stdout, address, folder, greeting }
    }

    /// A request to the Messages API.
    pub fn ask(&self, body: &Value) -> Answer {
        self.request("POST", "/v1/messages", &[], &body.to_string())
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let started = Instant::now();
        let mut stream = self.connect();
        stream.write_all(head(method, path, headers, body.len()).as_bytes()).expect("the head");
        stream.write_all(body.as_bytes()).expect("the body");
        let mut bytes = Vec::new();
        // A connection that breaks off is what some tests are about.
        let _ = stream.read_to_end(&mut bytes);
        Answer::read(&bytes, started.elapsed())
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a deadline");
        stream
    }

    /// The request log, which must be one JSON object a line.
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("requests.ndjson")).expect("the log");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}")))
            .collect()
    }

    /// Ends it with a signal.
    pub fn end(mut self, signal: rustix::process::Signal) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("a signal");
        self.child.wait().expect("its end")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn head(method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n")
}

impl Answer {
    pub fn read(bytes: &[u8], took: Duration) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok()).unwrap_or(0);
        let pair =
            |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        let mut answer = Self {
            status,
            headers: lines.filter_map(pair).collect(),
            body: rest.to_owned(),
            pieces: Vec::new(),
            is_whole: false,
            took,
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.join(rest);
        } else {
            answer.is_whole = answer.header("content-length") == Some(&*rest.len().to_string());
        }
        answer
    }

    fn join(&mut self, mut rest: &str) {
        self.body.clear();
        while let Some((size, after)) = rest.split_once("\r\n") {
            let size = usize::from_str_radix(size, 16).expect("a size");
            if size == 0 {
                self.is_whole = true;
                return;
            }
            let piece = &after[..size.min(after.len())];
            self.body.push_str(piece);
            self.pieces.push(piece.len());
            rest = after[piece.len()..].strip_prefix("\r\n").unwrap_or_default();
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The events of a stream, in order.
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))).collect()
    }
}
