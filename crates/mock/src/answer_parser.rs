//! An API's answer as an answer of a script: the pieces of a stream are put together again, so that a
//! secret cut in two is found, and a person can read and change it.
//!
//! Deliberately absent: the times between the pieces. A replay is as fast as it can be.

use crate::ScriptedAnswer;
use crate::sse::{AnswerIds, Number};
use serde_json::{Map, Value, json};

/// Headers that say when a limit is over.
const KEPT_HEADERS: [&str; 2] = ["retry-after", "anthropic-ratelimit-"];

/// An answer as it went by.
#[derive(Debug, Default)]
pub(crate) struct ParsedAnswer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// As far as it came.
    pub(crate) body: Vec<u8>,
}

impl ParsedAnswer {
    fn content_type(&self) -> &str {
        self.headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, value)| value)
    }

    /// The turn that would answer the same.
    pub(crate) fn turn(&self) -> Map<String, Value> {
        let text = String::from_utf8_lossy(&self.body);
        let mut turn = Map::new();
        if self.status >= 400 {
            turn.insert("status".into(), self.status.into());
            self.keep_headers(&mut turn);
        }
        let parsed = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
        match parsed {
            Some(error) if self.status >= 400 => {
                turn.insert("error".into(), error);
            }
            Some(message) if message["type"] == "message" => message_turn(&message, &mut turn),
            _ if self.status < 400 && self.content_type().starts_with("text/event-stream") => {
                Stream::read(&text).into_turn(&mut turn);
            }
            _ => {
                turn.insert("body".into(), text.into());
                turn.insert("content_type".into(), self.content_type().into());
            }
        }
        turn
    }

    fn keep_headers(&self, turn: &mut Map<String, Value>) {
        let kept = |name: &str| KEPT_HEADERS.iter().any(|prefix| name.starts_with(prefix));
        let headers: Map<String, Value> = self
            .headers
            .iter()
            .filter(|(name, _)| kept(name))
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        if !headers.is_empty() {
            turn.insert("headers".into(), headers.into());
        }
    }
}

fn message_turn(message: &Value, turn: &mut Map<String, Value>) {
    for name in ["content", "usage", "stop_reason", "stop_details", "model"] {
        if let Some(value) = message.get(name).filter(|value| !value.is_null()) {
            turn.insert(name.into(), value.clone());
        }
    }
}

/// A stream as far as it was understood.
#[derive(Debug, Default)]
struct Stream {
    message: Map<String, Value>,
    blocks: Vec<Value>,
    /// The tool input of the last block, as text.
    input: String,
    open: bool,
    ping: bool,
    error: Option<Value>,
    stopped: bool,
    begun: bool,
}

impl Stream {
    fn read(text: &str) -> Self {
        let mut stream = Self::default();
        for line in text.lines() {
            if let Some(event) = line.strip_prefix("data:").and_then(|data| serde_json::from_str(data.trim()).ok()) {
                stream.event(&event);
            }
        }
        stream
    }

    fn event(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.begun = true;
                for name in ["usage", "model"] {
                    self.message.insert(name.into(), event["message"][name].clone());
                }
            }
            "ping" => self.ping = true,
            "content_block_start" => {
                self.blocks.push(event["content_block"].clone());
                self.input.clear();
                self.open = true;
            }
            "content_block_delta" => self.delta(&event["delta"]),
            "content_block_stop" => self.close(),
            "message_delta" => {
                for name in ["stop_reason", "stop_details"] {
                    self.message.insert(name.into(), event["delta"][name].clone());
                }
                for (name, count) in event["usage"].as_object().into_iter().flatten() {
                    self.message.entry("usage").or_insert_with(|| json!({}))[name] = count.clone();
                }
            }
            "message_stop" => self.stopped = true,
            "error" => self.error = Some(event.clone()),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Value) {
        let Some(block) = self.blocks.last_mut().filter(|block| block.is_object()) else { return };
        let mut append = |name: &str| {
            let joined = format!("{}{}", block[name].as_str().unwrap_or(""), delta[name].as_str().unwrap_or(""));
            block[name] = joined.into();
        };
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => append("text"),
            "thinking_delta" => append("thinking"),
            "signature_delta" => append("signature"),
            "input_json_delta" => self.input.push_str(delta["partial_json"].as_str().unwrap_or_default()),
            "citations_delta" => match &mut block["citations"] {
                Value::Array(list) => list.push(delta["citation"].clone()),
                other => *other = json!([delta["citation"]]),
            },
            _ => {}
        }
    }

    fn close(&mut self) {
        self.open = false;
        let input = std::mem::take(&mut self.input);
        let Some(block) = self.blocks.last_mut().and_then(Value::as_object_mut).filter(|_| !input.is_empty()) else {
            return;
        };
        if let Ok(input) = serde_json::from_str::<Value>(&input) {
            block.insert("input".into(), input);
        } else {
            block.shift_remove("input");
            block.insert("input_json".into(), input.into());
        }
    }

    fn into_turn(mut self, turn: &mut Map<String, Value>) {
        let unfinished = self.open;
        self.close();
        turn.insert("content".into(), self.blocks.into());
        self.message.retain(|_, value| !value.is_null());
        turn.extend(self.message);
        if self.ping {
            turn.insert("ping".into(), true.into());
        }
        if let Some(error) = self.error.clone() {
            turn.insert("error".into(), error);
        }
        if self.error.is_some() || !self.stopped {
            let heard = if self.begun { events_of(turn).saturating_sub(2 + usize::from(unfinished)) } else { 0 };
            turn.insert("cut_after_events".into(), heard.into());
        }
    }
}

/// How many events our own stream of this turn has.
fn events_of(turn: &Map<String, Value>) -> usize {
    let turn: ScriptedAnswer = serde_json::from_value(turn.clone().into()).unwrap_or_default();
    AnswerIds { turn: &turn, number: Number::Tooled(1), model: "" }.events().len()
}

#[cfg(test)]
#[path = "answer_parser_tests.rs"]
mod tests;
