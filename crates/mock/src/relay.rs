//! A relay before a real API: requests go through as they are, answers come back as they come, and a tape
//! keeps what was said.
//!
//! It adds no credential of its own: who asks through it needs one. Deliberately absent: retries, caching,
//! and any change of what goes by, compression aside (a recording is text).

use crate::RecordingWriter;
use crate::answer_parser::ParsedAnswer;
use crate::http::{Request, read_request};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};

/// Some failures to accept (no file descriptors left) last a while; trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Kept of one answer, far above the longest there are. More goes by, unrecorded.
const ANSWER_MAX: usize = 32 * 1024 * 1024;

/// About one connection only, or ours to say anew.
const REQUEST_HOPS: [&str; 11] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "accept-encoding",
];
const RESPONSE_HOPS: [&str; 6] =
    ["connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "trailer"];

/// A relay that has its address and waits to be run.
pub struct Relay {
    listener: StdListener,
    line: Line,
}

#[derive(Clone)]
struct Line {
    upstream: String,
    client: reqwest::Client,
    tape: Arc<RecordingWriter>,
}

impl Relay {
    /// Forwards to `upstream`, an address with or without a path. The client must not follow redirects: they
    /// would carry a key to another host.
    pub fn bind(
        addr: SocketAddr,
        upstream: &str,
        client: reqwest::Client,
        tape: Arc<RecordingWriter>,
    ) -> io::Result<Self> {
        let listener = StdListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let upstream = upstream.trim_end_matches('/').to_owned();
        Ok(Self { listener, line: Line { upstream, client, tape } })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Relays until dropped.
    pub async fn run(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let mut connections = tokio::task::JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let line = self.line.clone();
                    connections.spawn(async move { line.converse(stream).await });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }
}

impl Line {
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufStream::new(stream);
        while let Some(request) = read_request(&mut stream).await? {
            let at_ms = self.tape.now_ms();
            let mut answered = ParsedAnswer::default();
            let relayed = self.relay(&request, &mut stream, &mut answered).await;
            if is_message(&request) && answered.body.len() <= ANSWER_MAX && answered.status > 0 {
                self.tape.write(&request, at_ms, &answered);
            }
            if !relayed? || request.closes() {
                break;
            }
        }
        Ok(())
    }

    /// `true` if the connection may carry another request.
    async fn relay(
        &self,
        request: &Request,
        to: &mut BufStream<TcpStream>,
        heard: &mut ParsedAnswer,
    ) -> io::Result<bool> {
        let mut response = match self.ask(request).await {
            Ok(response) => response,
            Err(error) => return unreachable(&error.to_string(), to, heard).await,
        };
        heard.status = response.status().as_u16();
        let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        heard.headers = response
            .headers()
            .iter()
            .filter(|(name, _)| !RESPONSE_HOPS.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect();
        to.write_all(head(heard).as_bytes()).await?;
        to.flush().await?;
        loop {
            match response.chunk().await {
                Ok(Some(piece)) => {
                    if heard.body.len() <= ANSWER_MAX {
                        heard.body.extend_from_slice(&piece);
                    }
                    write_chunk(to, &piece).await?;
                }
                Ok(None) => {
                    to.write_all(b"0\r\n\r\n").await?;
                    to.flush().await?;
                    return Ok(true);
                }
                // Cut there, so cut here.
                Err(_) => return Ok(false),
            }
        }
    }

    async fn ask(&self, request: &Request) -> Result<reqwest::Response, AskError> {
        if !request.path.starts_with('/') {
            return Err(AskError::NoPath(request.path.clone()));
        }
        let method: reqwest::Method = request.method.parse().map_err(|_| AskError::Method)?;
        let mut asking = self.client.request(method, format!("{}{}", self.upstream, request.path));
        for (name, value) in request.headers.iter().filter(|(name, _)| !REQUEST_HOPS.contains(&name.as_str())) {
            asking = asking.header(name, value);
        }
        asking = asking.header("accept-encoding", "identity").body(request.body.clone());
        asking.send().await.map_err(|error| AskError::Transport(innermost(&error)))
    }
}

/// Why a request was not passed on.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("{0:?} is no path")]
    NoPath(String),
    #[error("unknown method")]
    Method,
    #[error("{0}")]
    Transport(String),
}

fn is_message(request: &Request) -> bool {
    request.method == "POST" && request.path.split('?').next() == Some("/v1/messages")
}

/// The outer causes only say "error sending request" and may show the address.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

/// Agents take this for what it is: worth trying again.
async fn unreachable(why: &str, to: &mut BufStream<TcpStream>, heard: &mut ParsedAnswer) -> io::Result<bool> {
    let message = format!("the relay cannot reach the API: {why}");
    let body = serde_json::json!({"type": "error", "error": {"type": "api_error", "message": message}}).to_string();
    heard.status = 502;
    heard.headers = vec![("content-type".into(), "application/json".into())];
    heard.body = body.into_bytes();
    to.write_all(head(heard).as_bytes()).await?;
    write_chunk(to, &heard.body).await?;
    to.write_all(b"0\r\n\r\n").await?;
    to.flush().await?;
    Ok(true)
}

fn head(answer: &ParsedAnswer) -> String {
    let mut lines = vec![format!("HTTP/1.1 {} Relayed", answer.status)];
    lines.extend(answer.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.push("transfer-encoding: chunked".into());
    lines.join("\r\n") + "\r\n\r\n"
}

/// At once: whoever reads a stream reads it as it comes.
async fn write_chunk(to: &mut BufStream<TcpStream>, piece: &[u8]) -> io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    to.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    to.write_all(piece).await?;
    to.write_all(b"\r\n").await?;
    to.flush().await
}
