//! A WebSocket that is listened to: the handshake over a client for pages, with the same guard against private addresses, and
//! then what comes.

use crate::frames::{FrameError, Frames, Opcode, Received, control};
use crate::get::{GetError, spelled_out};
use crate::pages::Web;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{CONNECTION, HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use reqwest::{StatusCode, Upgraded};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use url::Url;
use uuid::Uuid;

/// The call waits for it.
const OPEN_WITHIN: Duration = Duration::from_secs(15);
/// A peer that does not take an answer of a few bytes is gone.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;
/// What RFC 6455 has both sides append to the key.
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error(transparent)]
    Client(#[from] GetError),
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("no answer within {} s", OPEN_WITHIN.as_secs())]
    TooSlow,
    #[error("the server answered {0} and opened no web socket")]
    Refused(StatusCode),
    #[error("the server's answer is none of a web socket: {0}")]
    NoSocket(&'static str),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the connection broke: {0}")]
    Broken(String),
}

pub struct Socket {
    io: Upgraded,
    frames: Frames,
    buffer: Box<[u8]>,
}

impl Socket {
    /// `url` is `http` or `https`, as [`crate::address::socket`] has made it.
    pub async fn open(web: &Web, url: &Url, protocols: &[String]) -> Result<Self, SocketError> {
        let opened = timeout(OPEN_WITHIN, Self::shake_hands(web, url, protocols)).await;
        let io = opened.map_err(|_| SocketError::TooSlow)??;
        Ok(Self { io, frames: Frames::default(), buffer: vec![0; READ_BYTES].into() })
    }

    async fn shake_hands(web: &Web, url: &Url, protocols: &[String]) -> Result<Upgraded, SocketError> {
        web.guard().check_for_proxy(url).await?;
        let key = BASE64.encode(Uuid::new_v4().as_bytes());
        let mut request = web.socket_client()?.get(url.clone());
        request = request.header(CONNECTION, "Upgrade").header(UPGRADE, "websocket");
        request = request.header("sec-websocket-version", "13").header("sec-websocket-key", &key);
        if !protocols.is_empty() {
            request = request.header(SEC_WEBSOCKET_PROTOCOL, protocols.join(", "));
        }
        let response = request.send().await.map_err(|error| SocketError::Unreachable(spelled_out(&error)))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(SocketError::Refused(response.status()));
        }
        check_answer(response.headers(), &key, protocols)?;
        response.upgrade().await.map_err(|error| SocketError::Unreachable(spelled_out(&error)))
    }

    /// What comes next; pings are answered on the way. The end of the connection is a close without a code.
    pub async fn receive(&mut self) -> Result<Received, SocketError> {
        loop {
            match self.frames.receive()? {
                Some(Received::Ping(payload)) => self.answer(Opcode::Pong, &payload).await?,
                Some(received) => return Ok(received),
                None => {
                    let read = self.io.read(&mut self.buffer).await;
                    let read = read.map_err(|error| SocketError::Broken(error.to_string()))?;
                    if read == 0 {
                        return Ok(Received::Close(None));
                    }
                    self.frames.push(&self.buffer[..read]);
                }
            }
        }
    }

    /// Says goodbye; nobody waits for the peer to say it too.
    pub async fn close(mut self) {
        const NORMAL: u16 = 1000;
        let _ = self.answer(Opcode::Close, &NORMAL.to_be_bytes()).await;
        let _ = timeout(ANSWER_WITHIN, self.io.shutdown()).await;
    }

    async fn answer(&mut self, opcode: Opcode, payload: &[u8]) -> Result<(), SocketError> {
        let [a, b, c, d, ..] = Uuid::new_v4().into_bytes();
        let frame = control(opcode, payload, [a, b, c, d]);
        let sent = timeout(ANSWER_WITHIN, async {
            self.io.write_all(&frame).await?;
            self.io.flush().await
        });
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(SocketError::Broken(error.to_string())),
            Err(_) => Err(SocketError::Broken("nobody takes an answer".into())),
        }
    }
}

/// The answer belongs to our key, and names at most one of our protocols.
fn check_answer(headers: &HeaderMap, key: &str, protocols: &[String]) -> Result<(), SocketError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if !text(UPGRADE.as_str()).is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
        return Err(SocketError::NoSocket("it changes to another protocol"));
    }
    if text(SEC_WEBSOCKET_ACCEPT.as_str()) != Some(accept(key).as_str()) {
        return Err(SocketError::NoSocket("its key is wrong"));
    }
    if text("sec-websocket-extensions").is_some() {
        return Err(SocketError::NoSocket("it uses an extension that was not offered"));
    }
    match text(SEC_WEBSOCKET_PROTOCOL.as_str()) {
        Some(chosen) if !protocols.iter().any(|offered| offered == chosen) => {
            Err(SocketError::NoSocket("it chose a subprotocol that was not offered"))
        }
        _ => Ok(()),
    }
}

fn accept(key: &str) -> String {
    BASE64.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{ACCEPT_SUFFIX}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_held_against_what_was_asked() {
        // The example of RFC 6455, section 1.3.
        let (key, fits) = ("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(accept(key), fits);
        let offered = ["chat".to_owned(), "feed".to_owned()];
        for (upgrade, accept, protocol, is_right) in [
            ("WebSocket", fits, None, true),
            ("websocket", fits, Some("feed"), true),
            ("websocket", fits, Some("other"), false),
            ("websocket", "s3pPLMBiTxaQ9kYGzzhZRbK+xOO=", None, false),
            ("h2c", fits, None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(UPGRADE, upgrade.parse().unwrap());
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept.parse().unwrap());
            if let Some(protocol) = protocol {
                headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
            }
            assert_eq!(check_answer(&headers, key, &offered).is_ok(), is_right, "{upgrade} {accept} {protocol:?}");
        }
    }
}
