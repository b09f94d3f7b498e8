//! The script of the model's answers, read from JSON with errors that name the place.

use crate::recording::{self, Exchange};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One scripted conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// Answers to requests that offer tools, one a request.
    pub turns: Vec<ScriptedAnswer>,
    /// Answers to requests without tools (titles, summaries, page digests); "ok" once they run out.
    pub untooled: Vec<ScriptedAnswer>,
    /// Ids that Bedrock lists as inference profiles.
    pub profiles: Vec<String>,
    /// Of a recording, in its order; each goes to the request that is most like its own.
    pub recorded: Vec<Exchange>,
}

/// One answer. The default is an empty message that ends the turn.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// Content blocks. A `tool_use` needs no id; `input_json` in its place of `input` is sent unchecked.
    pub content: Vec<Value>,
    /// Merged over the default token counts.
    pub usage: Option<Map<String, Value>>,
    /// `tool_use` if there is a tool call, else `end_turn`.
    pub stop_reason: Option<String>,
    pub stop_details: Option<Value>,
    /// The request's own model unless given.
    pub model: Option<String>,
    /// An HTTP status other than 200 answers with `error` (or one that fits) instead of a message.
    pub status: Option<u16>,
    /// Without a `status` this is sent as an SSE `error` event where `cut_after_events` cuts.
    pub error: Option<Value>,
    pub headers: BTreeMap<String, String>,
    /// Sent as it is, in place of a message.
    pub body: Option<String>,
    pub content_type: Option<String>,
    /// Sent as it is, as an event stream.
    pub raw_sse: Option<String>,
    pub cut_after_events: Option<usize>,
    pub cut_after_bytes: Option<usize>,
    /// Where the answer ends or is cut, the connection is reset rather than closed.
    pub reset: bool,
    /// The connection stays open and silent after that many events.
    pub stall_after_events: Option<usize>,
    /// Waited before the first byte of the answer.
    pub delay_ms: u64,
    /// The answer leaves in pieces of this size, `chunk_delay_ms` apart.
    pub chunk_bytes: Option<usize>,
    pub chunk_delay_ms: u64,
    /// A `ping` event follows `message_start`.
    pub ping: bool,
    /// What the request must contain; otherwise it gets a 400 that says where it differs.
    pub expect: Option<Value>,
    /// For the reader of the script.
    pub note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("the script is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the script must be a list of turns or an object with \"turns\", not {0}")]
    NotAScript(&'static str),
    #[error("the script has an unknown key \"{0}\"; known are \"turns\", \"untooled\" and \"profiles\"")]
    UnknownKey(String),
    #[error("{place}: {why}")]
    BadTurn { place: String, why: String },
    #[error("the recording holds no answers")]
    NothingRecorded,
}

impl Script {
    /// A script, or a recording of [`crate::Relay`].
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        if recording::is_recording(text) {
            return Ok(Self { recorded: recording::read(text)?, ..Self::default() });
        }
        Self::from_value(serde_json::from_str(text)?)
    }

    pub fn from_value(value: Value) -> Result<Self, ScriptError> {
        match value {
            Value::Array(_) => Ok(Self { turns: turns("turns", value)?, ..Self::default() }),
            Value::Object(map) => {
                let mut script = Self::default();
                for (key, value) in map {
                    match key.as_str() {
                        "turns" | "model_turns" => script.turns = turns("turns", value)?,
                        "untooled" => script.untooled = turns("untooled", value)?,
                        "profiles" => script.profiles = serde_json::from_value(value)?,
                        "note" => {}
                        _ => return Err(ScriptError::UnknownKey(key)),
                    }
                }
                Ok(script)
            }
            other => Err(ScriptError::NotAScript(kind(&other))),
        }
    }

    /// Replaces a placeholder such as `$WD` in every text the script sends or expects.
    #[must_use]
    pub fn substitute(mut self, from: &str, to: &str) -> Self {
        let recorded = self.recorded.iter_mut().map(|exchange| &mut exchange.turn);
        for turn in self.turns.iter_mut().chain(&mut self.untooled).chain(recorded) {
            turn.substitute(from, to);
        }
        self
    }
}

impl ScriptedAnswer {
    /// An answer of one text block.
    pub fn text(text: &str) -> Self {
        Self { content: vec![serde_json::json!({"type": "text", "text": text})], ..Self::default() }
    }

    /// An answer of one tool call.
    pub fn tool(name: &str, input: &Value) -> Self {
        Self { content: vec![serde_json::json!({"type": "tool_use", "name": name, "input": input})], ..Self::default() }
    }

    /// An HTTP error.
    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    pub(crate) fn calls_a_tool(&self) -> bool {
        self.content.iter().any(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
    }

    fn substitute(&mut self, from: &str, to: &str) {
        let values = self.content.iter_mut().chain(&mut self.error).chain(&mut self.expect);
        values.for_each(|value| replace(value, from, to));
        for text in self.body.iter_mut().chain(&mut self.raw_sse).chain(self.headers.values_mut()) {
            *text = text.replace(from, to);
        }
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, from, to)),
        _ => {}
    }
}

fn turns(list: &str, value: Value) -> Result<Vec<ScriptedAnswer>, ScriptError> {
    let bad = |place: String, why: String| ScriptError::BadTurn { place, why };
    let Value::Array(items) = value else {
        return Err(bad(list.into(), format!("must be a list, not {}", kind(&value))));
    };
    items.into_iter().enumerate().map(|(index, item)| turn(&format!("{list}[{index}]"), item)).collect()
}

pub(crate) fn turn(place: &str, value: Value) -> Result<ScriptedAnswer, ScriptError> {
    let bad = |place: String, why: &str| ScriptError::BadTurn { place, why: why.into() };
    if !value.is_object() {
        return Err(bad(place.into(), &format!("must be an object, not {}", kind(&value))));
    }
    let turn: ScriptedAnswer = serde_json::from_value(value).map_err(|error| bad(place.into(), &error.to_string()))?;
    for (index, block) in turn.content.iter().enumerate() {
        let place = format!("{place}.content[{index}]");
        match block.get("type").and_then(Value::as_str) {
            None => return Err(bad(place, "a block is an object with a \"type\"")),
            Some("tool_use") if !block.get("name").is_some_and(Value::is_string) => {
                return Err(bad(place, "a tool_use block needs a \"name\""));
            }
            Some("text") if !block.get("text").is_some_and(Value::is_string) => {
                return Err(bad(place, "a text block needs a \"text\""));
            }
            Some(_) => {}
        }
    }
    if turn.status.is_some_and(|status| !(200..600).contains(&status)) {
        return Err(bad(format!("{place}.status"), "must be an HTTP status from 200 to 599"));
    }
    if turn.chunk_bytes == Some(0) {
        return Err(bad(format!("{place}.chunk_bytes"), "must be at least 1"));
    }
    if let Some((name, value)) = turn.headers.iter().find(|(name, value)| !is_header(name, value)) {
        return Err(bad(format!("{place}.headers"), &format!("{name:?}: {value:?} cannot stand in an HTTP header")));
    }
    Ok(turn)
}

/// A line break here would let a script end the head of the answer by accident.
fn is_header(name: &str, value: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        && !value.contains(['\r', '\n'])
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_and_an_object_are_scripts() {
        let list = Script::from_json(r#"[{"content":[{"type":"text","text":"hi"}]}]"#).unwrap();
        let object = Script::from_json(r#"{"turns":[{"content":[{"type":"text","text":"hi"}]}]}"#).unwrap();
        assert_eq!(list, object);
        assert_eq!(list.turns, [ScriptedAnswer::text("hi")]);
    }

    #[test]
    fn errors_name_the_place() {
        for (script, place) in [
            ("{", "not JSON"),
            ("7", "not a number"),
            (r#"{"turn":[]}"#, "unknown key \"turn\""),
            (r#"{"turns":{}}"#, "turns: must be a list, not an object"),
            ("[{}, 5]", "turns[1]: must be an object"),
            (r#"[{"contnet":[]}]"#, "turns[0]: unknown field `contnet`"),
            (r#"[{"content":[{"type":"text","text":"a"},{"x":1}]}]"#, "turns[0].content[1]: "),
            (r#"[{"content":[{"type":"tool_use"}]}]"#, "turns[0].content[0]: a tool_use block needs a \"name\""),
            (r#"[{"status":99}]"#, "turns[0].status"),
            (r#"[{"chunk_bytes":0}]"#, "turns[0].chunk_bytes"),
            (r#"[{"headers":{"a":"b\r\nc: d"}}]"#, "turns[0].headers"),
            (r#"{"untooled":[{"delay_ms":"x"}]}"#, "untooled[0]: "),
        ] {
            let error = Script::from_json(script).unwrap_err().to_string();
            assert!(error.contains(place), "{script}: {error}");
        }
    }

    #[test]
    fn placeholders_are_replaced_everywhere() {
        let script = Script::from_value(json!([{
            "content": [{"type": "tool_use", "name": "Read", "input": {"p": ["$WD/a"]}}],
            "expect": {"x": "$WD"}, "body": "in $WD"
        }]))
        .unwrap()
        .substitute("$WD", "/w");
        assert_eq!(script.turns[0].content[0]["input"], json!({"p": ["/w/a"]}));
        assert_eq!(script.turns[0].expect, Some(json!({"x": "/w"})));
        assert_eq!(script.turns[0].body.as_deref(), Some("in /w"));
    }
}
