//! JSON-RPC 2.0 messages, one a line: reading them, and building the ones that we send.

use serde_json::{Value, json};
use std::collections::HashMap;

/// The longest line that is read. A prompt may carry several pictures of 10 MB in base64.
pub const LINE_MAX: usize = 64 * 1024 * 1024;

/// Requests of ours that wait for an answer. More means that the other side answers nothing.
const PENDING_MAX: usize = 1024;

/// Error codes of JSON-RPC and of the protocol.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const NO_METHOD: i64 = -32601;
    pub(crate) const BAD_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    pub(crate) const NO_LOGIN: i64 = -32000;
    pub(crate) const NOT_FOUND: i64 = -32002;
}

/// A line from the other side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, result: Result<Value, RpcError> },
}

/// An `error` object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn bad_params(message: impl Into<String>) -> Self {
        Self::new(code::BAD_PARAMS, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message)
    }

    pub(crate) fn no_session(session: &str) -> Self {
        Self::new(code::NOT_FOUND, format!("no session {session}; create one with session/new"))
            .with(json!({"sessionId": session}))
    }

    fn read(error: &Value) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or(code::INTERNAL),
            message: error["message"].as_str().unwrap_or("an error without a message").to_owned(),
            data: error.get("data").filter(|data| !data.is_null()).cloned(),
        }
    }

    /// What a person reads: the message, and the details where they are text.
    pub(crate) fn text(&self) -> String {
        let details = self.data.as_ref().and_then(|data| {
            let fields = ["details", "message", "error"];
            data.as_str().or_else(|| fields.iter().find_map(|field| data[*field].as_str())).map(str::to_owned)
        });
        match details.filter(|details| !self.message.contains(details.as_str())) {
            Some(details) => format!("{}: {details}", self.message),
            None => self.message.clone(),
        }
    }
}

/// A line that is no message: what to answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unreadable {
    pub id: Value,
    pub error: RpcError,
}

impl Message {
    /// Reads one line. Blank lines are `None`.
    pub(crate) fn parse(line: &[u8]) -> Result<Option<Self>, Unreadable> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| Unreadable {
            id: Value::Null,
            error: RpcError::new(code::PARSE, format!("a line is not JSON: {error}")),
        })?;
        Self::from_value(value).map(Some)
    }

    fn from_value(mut value: Value) -> Result<Self, Unreadable> {
        let id = value.get("id").cloned();
        let invalid = |id: Option<Value>, why: &str| Unreadable {
            id: id.filter(is_id).unwrap_or_default(),
            error: RpcError::new(code::INVALID_REQUEST, why),
        };
        if !value.is_object() {
            return Err(invalid(None, "a message must be an object; batches are not supported"));
        }
        if let Some(method) = value["method"].as_str().map(str::to_owned) {
            let params = value.get_mut("params").map(Value::take).unwrap_or_default();
            return match id {
                None => Ok(Self::Notification { method, params }),
                Some(id) if is_id(&id) => Ok(Self::Request { id, method, params }),
                Some(_) => Err(invalid(None, "an id must be a number or a string")),
            };
        }
        match (id, value.get("result"), value.get("error")) {
            (Some(id), _, Some(error)) if !error.is_null() => {
                Ok(Self::Response { id, result: Err(RpcError::read(error)) })
            }
            (Some(id), Some(result), _) => Ok(Self::Response { id, result: Ok(result.clone()) }),
            (id, ..) => Err(invalid(id, "a message needs a method, a result or an error")),
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_number() || id.is_string()
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    message["params"] = params;
    message
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    message["params"] = params;
    message
}

pub(crate) fn response(id: Value, result: Result<Value, RpcError>) -> Value {
    let mut message = json!({"jsonrpc": "2.0"});
    message["id"] = id;
    match result {
        Ok(result) => message["result"] = result,
        Err(error) => {
            message["error"] = json!({"code": error.code, "message": error.message});
            if let Some(data) = error.data {
                message["error"]["data"] = data;
            }
        }
    }
    message
}

/// One line, newline included. `serde_json` escapes every newline inside.
pub fn to_line(message: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Requests of ours by their ids, with what to do with the answer.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    last: u64,
    waiting: HashMap<u64, T>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { last: 0, waiting: HashMap::new() }
    }
}

impl<T> Pending<T> {
    /// A new id; `None` where too many wait already.
    pub(crate) fn add(&mut self, what: T) -> Option<u64> {
        if self.waiting.len() >= PENDING_MAX {
            return None;
        }
        self.last += 1;
        self.waiting.insert(self.last, what);
        Some(self.last)
    }

    /// What an answer is for. Some agents answer a number with a string.
    pub(crate) fn take(&mut self, id: &Value) -> Option<T> {
        let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
        self.waiting.remove(&id)
    }

    /// Forgets the ones that fit, and returns their ids.
    pub(crate) fn take_all(&mut self, fits: impl Fn(&T) -> bool) -> Vec<(u64, T)> {
        let mut ids: Vec<u64> = self.waiting.iter().filter(|(_, what)| fits(what)).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| Some((id, self.waiting.remove(&id)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let parse = |text: &str| Message::parse(text.as_bytes());
        let request = |id: Value| Message::Request { id, method: "m".into(), params: Value::Null };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":"u-1","method":"m"}"#), Ok(Some(request(json!("u-1")))));
        assert_eq!(parse("{\"id\":0,\"method\":\"m\"}\r"), Ok(Some(request(json!(0)))));
        assert!(matches!(parse(r#"{"method":"m","params":{}}"#), Ok(Some(Message::Notification { .. }))));
        assert!(matches!(parse(r#"{"id":1,"result":null}"#), Ok(Some(Message::Response { result: Ok(_), .. }))));
        assert!(matches!(parse(r#"{"id":1,"error":{"code":-1}}"#), Ok(Some(Message::Response { result: Err(_), .. }))));
        assert_eq!(parse(" \r"), Ok(None));
    }

    #[test]
    fn what_is_no_message_is_answered() {
        for (line, expected, id) in [
            ("{", code::PARSE, Value::Null),
            ("[]", code::INVALID_REQUEST, Value::Null),
            ("7", code::INVALID_REQUEST, Value::Null),
            (r#"{"id":4}"#, code::INVALID_REQUEST, json!(4)),
            (r#"{"id":{},"method":"m"}"#, code::INVALID_REQUEST, Value::Null),
            (r#"{"id":null,"method":"m"}"#, code::INVALID_REQUEST, Value::Null),
        ] {
            let unreadable = Message::parse(line.as_bytes()).unwrap_err();
            assert_eq!((unreadable.error.code, unreadable.id), (expected, id), "{line}");
        }
    }

    #[test]
    fn an_answer_finds_its_question_once() {
        let mut pending = Pending::default();
        let (one, two) = (pending.add("one").unwrap(), pending.add("two").unwrap());
        assert_eq!(pending.take(&json!(one.to_string())), Some("one"));
        assert_eq!(pending.take(&json!(one)), None);
        assert_eq!(pending.take_all(|what| *what == "two"), [(two, "two")]);
    }
}
