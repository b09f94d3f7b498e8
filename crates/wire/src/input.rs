//! What arrives on stdin in `--input-format stream-json`: one JSON value a line.

use serde::Deserialize;
use serde_json::Value;

/// One line from the client. What we do not know is kept, never refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    User(Box<UserInput>),
    ControlRequest {
        request_id: String,
        request: Value,
    },
    ControlResponse(Value),
    ControlCancel {
        request_id: String,
    },
    KeepAlive,
    /// A `type` of another version. Ignored by the agent, kept for whoever logs.
    Unknown(Value),
}

/// A prompt. `session_id` of the client is deliberately not read: clients send empty and foreign ones.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserInput {
    pub message: UserMessage,
    #[serde(default)]
    pub uuid: Option<String>,
    #[serde(default)]
    pub origin: Option<Value>,
    #[serde(default, rename = "shouldQuery")]
    pub should_query: Option<bool>,
    #[serde(default, rename = "isSynthetic")]
    pub is_synthetic: Option<bool>,
    /// The client already expanded the text: no `@path`, no slash command.
    #[serde(default)]
    pub client_composed: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserMessage {
    /// A string or an array of blocks, kept as it came: the transcript stores the same form.
    pub content: Value,
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
            "control_response" => Ok(Some(Self::ControlResponse(value))),
            "control_cancel_request" => Ok(Some(Self::ControlCancel {
                request_id: string(&value, "request_id")
                    .ok_or(InputError::Malformed { kind: "control_cancel_request", why: "no request_id".into() })?,
            })),
            "keep_alive" => Ok(Some(Self::KeepAlive)),
            _ => Ok(Some(Self::Unknown(value))),
        }
    }
}

fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn user(value: Value) -> Result<Input, InputError> {
    let malformed = |why: String| InputError::Malformed { kind: "user", why };
    let input: UserInput = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
    match &input.message.content {
        Value::String(_) => {}
        Value::Array(blocks) if blocks.iter().all(Value::is_object) => {}
        _ => return Err(malformed("message.content must be a string or an array of blocks".into())),
    }
    Ok(Input::User(Box::new(input)))
}

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
