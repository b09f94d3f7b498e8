//! The web socket of a Monitor: opened for the call, then each message is an event until the socket or the watch ends.
//!
//! Deliberately absent: whether it may be opened, which rules judge by its host.

use super::monitor::{EVENT_CHARS, EVENTS_MAX, SocketInput, at};
use crate::bounded::first_chars;
use crate::context::ToolContext;
use crate::fence;
use crate::shell::output::OutputFile;
use crate::tasks::{Ending, Running, Status};
use policy::Targets;
use sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use std::io::Write as _;
use tokio::time::Instant;
use web::address::{self, AddressError};
use web::frames::Received;
use web::socket::{Socket, SocketError};

/// Subprotocols that are offered; a list that is longer is none.
const PROTOCOLS_MAX: usize = 16;

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("{0}")]
    Fenced(String),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("its output cannot be kept: {0}")]
    Output(#[from] io::Error),
}

/// What the schema cannot say of a `ws`.
pub(super) fn check(ws: &Value) -> Result<(), &'static str> {
    let protocols: Vec<&str> = ws["protocols"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if protocols.len() > PROTOCOLS_MAX || !protocols.iter().all(|name| is_token(name)) {
        return Err("`ws.protocols` holds names of subprotocols, 16 at most");
    }
    let different: BTreeSet<&&str> = protocols.iter().collect();
    if different.len() == protocols.len() { Ok(()) } else { Err("`ws.protocols` names one twice") }
}

/// A token of HTTP.
fn is_token(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_part)
}

pub(super) struct Opened {
    socket: Socket,
    pub(super) output: OutputFile,
}

/// The sandbox's list of hosts counts in every case: commands could not open this socket either.
pub(super) async fn open(ws: &SocketInput, context: &ToolContext) -> Result<Opened, OpenError> {
    let url = address::socket(&ws.url, context.web.guard().private_allowed)?;
    let targets = Targets { url: Some(url.to_string()), ..Targets::default() };
    let fence = context.shell.sandbox.as_deref().map(Sandbox::rules);
    if let Some(reason) = fence.and_then(|rules| fence::refuses(rules, &targets)) {
        return Err(OpenError::Fenced(reason));
    }
    let socket = Socket::open(&context.web, &url, &ws.protocols).await?;
    let mut output = OutputFile::create(&context.shell.spill_dir, &context.shell.fallback_dir)?;
    output.keep();
    Ok(Opened { socket, output })
}

impl Opened {
    /// Tells every message, and in the end why there are no more.
    pub(super) async fn watch(mut self, running: Running, description: String, until: Option<Instant>) {
        let mut events = 0;
        let (status, how) = loop {
            let received = tokio::select! {
                received = self.socket.receive() => received,
                () = running.stop_requested() => break (Status::Stopped, "was stopped".to_owned()),
                () = at(until) => break (Status::Completed, "was ended after its time".to_owned()),
            };
            let text = match received {
                Ok(Received::Text(text)) => text,
                Ok(Received::Binary(bytes)) => format!("[binary frame, {bytes} bytes]"),
                Ok(Received::Ping(_)) => continue,
                Ok(Received::Close(code)) => break (Status::Completed, closed(code)),
                Err(error) => break (Status::Failed, format!("was ended: {error}")),
            };
            if events == EVENTS_MAX {
                break (Status::Failed, "was ended: it said more than anybody can be woken by".to_owned());
            }
            events += 1;
            self.keep(&text);
            running.say(first_chars(&text, EVENT_CHARS).to_owned());
        };
        self.socket.close().await;
        running.finish(Ending { status, exit_code: None, summary: format!("Monitor \"{description}\" {how}") });
    }

    /// A message that cannot be kept was still told.
    fn keep(&self, text: &str) {
        let written = self.output.writer().and_then(|mut file| writeln!(file, "{text}"));
        drop(written);
    }
}

fn closed(code: Option<u16>) -> String {
    code.map_or_else(
        || "ended: the socket was closed".to_owned(),
        |code| format!("ended: the socket was closed with code {code}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subprotocols_are_tokens_and_each_is_named_once() {
        let many: Vec<String> = (0..17).map(|number| format!("p{number}")).collect();
        for (protocols, is_right) in [
            (json!(null), true),
            (json!([]), true),
            (json!(["chat", "feed.v2"]), true),
            (json!(["chat", "chat"]), false),
            (json!(["a b"]), false),
            (json!(["a,b"]), false),
            (json!([""]), false),
            (json!(many), false),
        ] {
            assert_eq!(check(&json!({"url": "ws://x", "protocols": protocols})).is_ok(), is_right, "{protocols}");
        }
    }
}
