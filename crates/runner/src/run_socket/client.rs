//! The client's side of a run's socket.

use super::lines::{self, Line};
use super::protocol::{Hello, LINE_MAX, Received, Request, parse_received};
use super::{NumberedEvent, SocketError, Status, address};
use crate::Folder;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// A run answers at once, but for an answer that it has to take first (5 s); a machine may be busy.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A connection to a run.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
    hello: Hello,
    asked: u64,
}

impl Client {
    /// Connects to a run of this folder that is at work.
    pub async fn connect(folder: &Folder, run: &str) -> Result<Self, SocketError> {
        let path = address::find(folder, run).ok_or_else(|| SocketError::NotAtWork(run.to_owned()))?;
        let stream = match within(run, UnixStream::connect(&path)).await? {
            Ok(stream) => stream,
            // Left by a run that was killed.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Err(SocketError::NotAtWork(run.to_owned()));
            }
            Err(source) => return Err(SocketError::Io { path, source }),
        };
        let hello = Hello { protocol: 0, run: run.to_owned(), pid: 0 };
        let mut client = Self { stream: BufReader::new(stream), line: Vec::new(), hello, asked: 0 };
        match within(run, client.receive()).await? {
            Ok(Received::Hello(hello)) => client.hello = hello,
            Ok(Received::Failed { failure }) => return Err(SocketError::Failed(failure)),
            // It ended while we connected.
            Err(SocketError::Cut(run)) => return Err(SocketError::NotAtWork(run)),
            Err(error) => return Err(error),
            Ok(other) => return Err(client.garbled(&format!("{other:?}"))),
        }
        Ok(client)
    }

    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    pub async fn status(&mut self) -> Result<Status, SocketError> {
        match self.request(&Request::Status).await? {
            Some(status) => Ok(*status),
            None => Err(self.garbled("a response without its status")),
        }
    }

    /// Everything but events and the status.
    pub async fn tell(&mut self, request: &Request) -> Result<(), SocketError> {
        self.request(request).await.map(drop)
    }

    /// Follows the run from an event on. Without `lines`, agents' own lines are left out.
    pub async fn events(mut self, from: (u64, u32), lines: bool) -> Result<Events, SocketError> {
        self.tell(&Request::Events { from: from.0, index: from.1, lines }).await?;
        Ok(Events { client: self })
    }

    async fn request(&mut self, request: &Request) -> Result<Option<Box<Status>>, SocketError> {
        self.asked += 1;
        let id = Value::from(self.asked);
        let mut value = serde_json::to_value(request).unwrap_or_default();
        value["id"] = id.clone();
        let run = self.hello.run.clone();
        within(&run, self.exchange(&id, &format!("{value}\n"))).await?
    }

    async fn exchange(&mut self, id: &Value, line: &str) -> Result<Option<Box<Status>>, SocketError> {
        let sent = self.stream.get_mut().write_all(line.as_bytes()).await;
        sent.map_err(|_| SocketError::Cut(self.hello.run.clone()))?;
        loop {
            match self.receive().await? {
                Received::Done { id: of, status } if of == *id => return Ok(status),
                Received::Failed { failure } => return Err(SocketError::Failed(failure)),
                _ => {}
            }
        }
    }

    /// May be cancelled and called again.
    async fn receive(&mut self) -> Result<Received, SocketError> {
        match lines::read(&mut self.stream, &mut self.line, LINE_MAX * 2).await {
            Ok(Line::Whole) => {
                let text = String::from_utf8_lossy(&self.line);
                let received = parse_received(&text).map_err(|error| self.garbled(&error.to_string()));
                self.line.clear();
                received
            }
            Ok(Line::TooLong) => Err(self.garbled("a line that is too long")),
            Ok(Line::End) | Err(_) => Err(SocketError::Cut(self.hello.run.clone())),
        }
    }

    fn garbled(&self, what: &str) -> SocketError {
        SocketError::Garbled { run: self.hello.run.clone(), what: what.to_owned() }
    }
}

async fn within<T>(run: &str, doing: impl Future<Output = T>) -> Result<T, SocketError> {
    let silent = |_| SocketError::Silent { run: run.to_owned(), seconds: ANSWERS_WITHIN.as_secs() };
    timeout(ANSWERS_WITHIN, doing).await.map_err(silent)
}

/// The events of a run, as they come.
#[derive(Debug)]
pub struct Events {
    client: Client,
}

impl Events {
    /// The next event; `None` after the run's end. A run that was killed is an error ([`SocketError::Cut`]). May be cancelled
    /// and called again.
    pub async fn next(&mut self) -> Result<Option<NumberedEvent>, SocketError> {
        loop {
            match self.client.receive().await? {
                Received::Event(numbered) => return Ok(Some(numbered)),
                Received::End => return Ok(None),
                Received::Failed { failure } => return Err(SocketError::Failed(failure)),
                Received::Hello(_) | Received::Done { .. } | Received::Unknown => {}
            }
        }
    }
}
