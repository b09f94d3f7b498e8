//! Our agent for ACP clients: `ralph acp` without its processes and pipes.
//!
//! One agent process belongs to each session. [`Server::step`] takes what happened (a line of the client, a line of an
//! agent process, an end, a deadline) and returns what to do about it.

mod history;
mod launch;
mod methods;
mod options;
mod permission;
mod prompt;
mod questions;
mod session;
mod step;
mod tools;
mod turn;
mod updates;

pub use launch::Launch;
pub use options::MODES;
pub use step::{
    Capabilities, ChildKey, DeleteError, PastSession, ServerInput, ServerOptions, ServerOutput, StartError, Timer,
};

use crate::rpc::{Message, Pending, RpcError, code, response};
use serde_json::{Value, json};
use session::{Context, PendingQuestion, Session};
use std::collections::BTreeMap;

/// Sessions of one connection. Each is a process.
const SESSIONS_MAX: usize = 64;

pub struct Server {
    options: ServerOptions,
    ids: Box<dyn FnMut() -> String>,
    /// `None` until `initialize`.
    client: Option<Capabilities>,
    sessions: BTreeMap<String, Session>,
    children: ChildKey,
    asked: Pending<PendingQuestion>,
    out: Vec<ServerOutput>,
}

impl Server {
    /// `ids` makes new session ids: UUIDs.
    pub fn new(options: ServerOptions, ids: impl FnMut() -> String + 'static) -> Self {
        Self {
            options,
            ids: Box::new(ids),
            client: None,
            sessions: BTreeMap::new(),
            children: 0,
            asked: Pending::default(),
            out: Vec::new(),
        }
    }

    pub fn step(&mut self, input: ServerInput) -> Vec<ServerOutput> {
        match input {
            ServerInput::Client(line) => self.client_line(&line),
            ServerInput::ClientTooLong => {
                let error = RpcError::new(code::INVALID_REQUEST, "a line is longer than 64 MiB");
                self.answer(Value::Null, Err(error));
            }
            ServerInput::Listed { id, sessions, next } => self.answer(id, Ok(listing(&sessions, next))),
            ServerInput::Deleted { id, result } => {
                self.answer(id, result.map(|()| json!({})).map_err(|error| RpcError::internal(error.to_string())));
            }
            ServerInput::LoginChecked { id, is_logged_in } => {
                let error = || RpcError::new(code::NO_LOGIN, methods::NO_LOGIN);
                self.answer(id, is_logged_in.then(|| json!({})).ok_or_else(error));
            }
            ServerInput::Child { child, line } => self.with_child(child, |session, context| {
                session.take_line(&line, context);
            }),
            ServerInput::ChildEnded { child, words } => self.with_child(child, |session, context| {
                session.child_ended(&words, context);
            }),
            ServerInput::Elapsed { child, timer } => self.with_child(child, |session, context| {
                session.elapsed(timer, context);
            }),
            ServerInput::NotStarted { child, error } => self.with_child(child, |session, context| {
                let error = match error {
                    StartError::NoFolder(_) => RpcError::bad_params(error.to_string()),
                    StartError::NoProcess(_) => RpcError::internal(error.to_string()),
                };
                session.not_opened(error, context);
            }),
            ServerInput::Found { child, messages } => self.with_child(child, |session, context| {
                session.found(messages, context);
            }),
        }
        self.sessions.retain(|_, session| !session.is_gone());
        std::mem::take(&mut self.out)
    }

    fn client_line(&mut self, line: &[u8]) {
        match Message::parse(line) {
            Ok(None) => {}
            Ok(Some(Message::Request { id, method, params })) => self.request(id, &method, params),
            Ok(Some(Message::Notification { method, params })) => self.notification(&method, &params),
            Ok(Some(Message::Response { id, result })) => self.response(&id, result),
            Err(unreadable) => self.answer(unreadable.id, Err(unreadable.error)),
        }
    }

    fn notification(&mut self, method: &str, params: &Value) {
        if method != "session/cancel" {
            return;
        }
        let session = params["sessionId"].as_str().and_then(|id| self.sessions.get(id));
        if let Some(child) = session.map(Session::child) {
            self.with_child(child, Session::cancel);
        }
    }

    fn response(&mut self, id: &Value, result: Result<Value, RpcError>) {
        if let Some(asked) = self.asked.take(id) {
            let child = asked.child;
            self.with_child(child, |session, context| session.client_answered(asked, result.ok().as_ref(), context));
        }
    }

    fn answer(&mut self, id: Value, result: Result<Value, RpcError>) {
        self.out.push(ServerOutput::ToClient(response(id, result)));
    }

    /// A process of a session that is gone, or that has another one now, has nobody to speak to.
    fn with_child(&mut self, child: ChildKey, act: impl FnOnce(&mut Session, &mut Context<'_>)) {
        let Some(session) = self.sessions.values_mut().find(|session| session.child() == child) else { return };
        let client = self.client.get_or_insert_default();
        act(session, &mut Context { out: &mut self.out, asked: &mut self.asked, client, options: &self.options });
    }
}

fn listing(sessions: &[PastSession], next: Option<String>) -> Value {
    let one = |session: &PastSession| {
        let mut entry = json!({"sessionId": session.id, "cwd": session.cwd});
        for (key, text) in [("title", &session.title), ("updatedAt", &session.updated_at)] {
            if let Some(text) = text {
                entry[key] = json!(text);
            }
        }
        entry
    };
    let mut page = json!({"sessions": sessions.iter().map(one).collect::<Vec<_>>()});
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
