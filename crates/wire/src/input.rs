//! The lines on stdin in `--input-format stream-json`: one JSON value a line. Clients build the same lines here.

use crate::message::{Field as _, FromMap, message};
use crate::{ClientRequest, ControlCancel, ControlResponse, ControlResponseLine, Extra};
use serde::Serialize;
use serde_json::{Value, json};

/// One line from the client. What we do not know is kept, never refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum Input {
    #[serde(rename = "user")]
    User(Box<UserInput>),
    /// The request is kept unchanged, so that an unknown one can still be answered. [`ClientRequest`] reads it.
    #[serde(rename = "control_request")]
    ControlRequest { request_id: String, request: Value },
    #[serde(rename = "control_response")]
    ControlResponse(ControlResponseLine),
    #[serde(rename = "control_cancel_request")]
    ControlCancel(ControlCancel),
    #[serde(rename = "keep_alive")]
    KeepAlive,
    /// A `type` of another version. Ignored by the agent, kept for logs.
    #[serde(untagged)]
    Unknown(Value),
}

message! {
    /// A prompt. `session_id` of the client deliberately has no field: clients send empty and foreign ones.
    pub struct UserInput {
        message: UserMessage = "message",
        uuid: Option<String> = "uuid" optional,
        origin: Option<Value> = "origin" optional,
        should_query: Option<bool> = "shouldQuery" optional,
        is_synthetic: Option<bool> = "isSynthetic" optional,
        /// The client already expanded the text: no `@path`, no slash command.
        client_composed: Option<bool> = "client_composed" optional,
    }
}

message! {
    pub struct UserMessage {
        role: Option<String> = "role" optional,
        /// A string or an array of blocks, kept as it came: the transcript stores the same form.
        content: Value = "content",
    }
}

impl UserInput {
    /// A prompt of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Value::String(text.into()))
    }

    /// `content` is a string or a list of blocks.
    pub fn new(content: Value) -> Self {
        let message = UserMessage { role: Some("user".into()), content, extra: Extra::new() };
        Self { message, ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("a line on stdin is not JSON: {0}")]
    NotJson(String),
    #[error("a line on stdin is JSON but not an object with a \"type\"")]
    NoType,
    #[error("a \"{kind}\" line on stdin is malformed: {why}")]
    Malformed { kind: &'static str, why: String },
}

impl Input {
    /// Reads one line. Blank lines (also a lone CR or a byte-order mark) are `None`.
    pub fn parse(line: &[u8]) -> Result<Option<Self>, InputError> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| InputError::NotJson(error.to_string()))?;
        let Some(kind) = value.get("type").and_then(Value::as_str) else {
            return Err(InputError::NoType);
        };
        match kind {
            "user" => user(value).map(Some),
            "control_request" => control_request(value).map(Some),
            "control_response" => Ok(Some(Self::ControlResponse(read(value)))),
            "control_cancel_request" if string(&value, "request_id").is_none() => {
                Err(InputError::Malformed { kind: "control_cancel_request", why: "no request_id".into() })
            }
            "control_cancel_request" => Ok(Some(Self::ControlCancel(read(value)))),
            "keep_alive" => Ok(Some(Self::KeepAlive)),
            _ => Ok(Some(Self::Unknown(value))),
        }
    }

    /// A prompt as one block of text.
    pub fn prompt(text: &str) -> Self {
        Self::User(Box::new(UserInput::new(json!([{"type": "text", "text": text}]))))
    }

    pub fn request(request_id: impl Into<String>, request: &ClientRequest) -> Self {
        let request = serde_json::to_value(request).unwrap_or_default();
        Self::ControlRequest { request_id: request_id.into(), request }
    }

    /// The answer to a request of the agent's.
    pub fn response(response: ControlResponse) -> Self {
        Self::ControlResponse(ControlResponseLine { response, ..ControlResponseLine::default() })
    }

    /// Withdraws a request of the client's.
    pub fn cancel(request_id: impl Into<String>) -> Self {
        Self::ControlCancel(ControlCancel { request_id: request_id.into(), ..ControlCancel::default() })
    }

    /// One line, newline included.
    pub fn to_line(&self) -> Vec<u8> {
        // Only strings, numbers, lists and string-keyed maps, so this cannot fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The message without its `type`, which the enum has.
fn read<T: FromMap>(value: Value) -> T {
    let mut map = Extra::read(value).unwrap_or_default();
    map.shift_remove("type");
    T::from_map(map)
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn user(value: Value) -> Result<Input, InputError> {
    let malformed = |why: &str| InputError::Malformed { kind: "user", why: why.into() };
    let input: UserInput = read(value);
    // A prompt that says something else than it seems to is refused, not guessed.
    if let Some(key) = UNAMBIGUOUS.iter().find(|key| input.extra.get(**key).is_some_and(|value| !value.is_null())) {
        return Err(malformed(&format!("{key} has a value of another type")));
    }
    match &input.message.content {
        Value::String(_) => {}
        Value::Array(blocks) if blocks.iter().all(Value::is_object) => {}
        _ => return Err(malformed("message.content must be a string or an array of blocks")),
    }
    Ok(Input::User(Box::new(input)))
}

/// Fields of a prompt that change what is done with it.
const UNAMBIGUOUS: [&str; 5] = ["message", "uuid", "shouldQuery", "isSynthetic", "client_composed"];

fn control_request(mut value: Value) -> Result<Input, InputError> {
    let malformed = |why: &str| InputError::Malformed { kind: "control_request", why: why.into() };
    let request_id = string(&value, "request_id").ok_or_else(|| malformed("no request_id"))?;
    // Without a request there is still somebody who waits for an answer: it is answered as one that nobody knows.
    let request = value.get_mut("request").map(Value::take).unwrap_or_default();
    Ok(Input::ControlRequest { request_id, request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(line: &str) -> Result<Option<Input>, InputError> {
        Input::parse(line.as_bytes())
    }

    #[test]
    fn blank_lines_are_nothing() {
        for line in ["", "\r", "   ", "\u{feff}", "\n"] {
            assert_eq!(parse(line), Ok(None), "{line:?}");
        }
    }

    #[test]
    fn a_prompt_may_be_text_or_blocks_and_carry_strange_keys() {
        for content in [json!("hi"), json!([{"type":"text","text":"hi"}]), json!([])] {
            let line =
                json!({"type":"user","session_id":"s_default","zzz":1,"message":{"role":"user","content":content}});
            let Ok(Some(Input::User(input))) = parse(&format!("{line}\r")) else { panic!("{line}") };
            assert_eq!(input.message.content, content);
        }
    }

    #[test]
    fn malformed_lines_are_told_apart() {
        assert!(matches!(parse("{\"type\":\"us"), Err(InputError::NotJson(_))));
        assert_eq!(parse("[1]"), Err(InputError::NoType));
        assert_eq!(parse("{\"type\":7}"), Err(InputError::NoType));
        for line in
            [r#"{"type":"user"}"#, r#"{"type":"user","message":{"content":5}}"#, r#"{"type":"control_request"}"#]
        {
            assert!(matches!(parse(line), Err(InputError::Malformed { .. })), "{line}");
        }
    }

    #[test]
    fn whoever_asks_can_be_answered() {
        for (line, request) in [
            (r#"{"type":"control_request","request_id":"1"}"#, Value::Null),
            (r#"{"type":"control_request","request_id":"1","request":7}"#, json!(7)),
        ] {
            assert_eq!(parse(line), Ok(Some(Input::ControlRequest { request_id: "1".into(), request })), "{line}");
        }
    }

    #[test]
    fn the_future_is_kept() {
        assert_eq!(parse(r#"{"type":"new","x":1}"#), Ok(Some(Input::Unknown(json!({"type":"new","x":1})))));
        assert_eq!(parse(r#"{"type":"keep_alive"}"#), Ok(Some(Input::KeepAlive)));
    }
}
