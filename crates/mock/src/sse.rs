//! A turn as the events a streaming Messages API sends, and as the one object a plain request gets.

use crate::ScriptedAnswer;
use serde::Serialize as _;
use serde_json::{Map, Value, json};

/// Texts and tool inputs arrive in pieces of this many characters, so that clients have to join them.
const DELTA_CHARS: usize = 20;

/// What a thinking block is signed with unless the script says otherwise.
const SIGNATURE: &str = "c2ln";

/// The final count of output tokens unless the script says otherwise.
const OUTPUT_TOKENS: u64 = 25;

/// Which answer this is: the ids of message and tool calls come from its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerIds<'a> {
    pub(crate) turn: &'a ScriptedAnswer,
    pub(crate) number: Number,
    /// The model the request asked for.
    pub(crate) model: &'a str,
}

/// Requests with and without tools are counted apart, so that the latter never shift the former's ids.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Tooled(usize),
    Untooled(usize),
}

impl Number {
    pub(crate) fn tag(self) -> String {
        match self {
            Self::Tooled(number) => format!("{number:06}"),
            Self::Untooled(number) => format!("untooled_{number:06}"),
        }
    }
}

impl AnswerIds<'_> {
    /// The events in order, each with its blank line.
    pub(crate) fn events(&self) -> Vec<String> {
        let mut events = vec![event(&json!({"type": "message_start", "message": self.message(&[], None)}))];
        if self.turn.ping {
            events.push(event(&json!({"type": "ping"})));
        }
        for (index, block) in self.turn.content.iter().enumerate() {
            let Pieces { start, deltas } = self.pieces(index, block);
            events.push(event(&json!({"type": "content_block_start", "index": index, "content_block": start})));
            events.extend(
                deltas
                    .iter()
                    .map(|delta| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))),
            );
            events.push(event(&json!({"type": "content_block_stop", "index": index})));
        }
        events.push(event(&self.message_delta()));
        events.push(event(&json!({"type": "message_stop"})));
        events
    }

    /// The answer to a request that did not ask for a stream.
    pub(crate) fn whole(&self) -> Value {
        let blocks: Vec<Value> =
            self.turn.content.iter().enumerate().map(|(index, block)| self.finished(index, block)).collect();
        let mut message = self.message(&blocks, Some(&self.stop_reason()));
        message["usage"]["output_tokens"] = self.output_tokens();
        if let Some(details) = &self.turn.stop_details {
            message["stop_details"] = details.clone();
        }
        message
    }

    fn message(&self, content: &[Value], stop_reason: Option<&str>) -> Value {
        json!({
            "id": format!("msg_{}", self.number.tag()),
            "type": "message",
            "role": "assistant",
            "model": self.turn.model.as_deref().unwrap_or(self.model),
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": self.usage(),
        })
    }

    fn usage(&self) -> Value {
        let mut usage = json!({
            "input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3,
            "output_tokens": 1, "service_tier": "standard",
        });
        for (key, value) in self.turn.usage.iter().flatten() {
            usage[key] = value.clone();
        }
        usage
    }

    fn output_tokens(&self) -> Value {
        let scripted = self.turn.usage.as_ref().and_then(|usage| usage.get("output_tokens"));
        scripted.cloned().unwrap_or_else(|| OUTPUT_TOKENS.into())
    }

    fn stop_reason(&self) -> String {
        let default = if self.turn.calls_a_tool() { "tool_use" } else { "end_turn" };
        self.turn.stop_reason.clone().unwrap_or_else(|| default.into())
    }

    fn message_delta(&self) -> Value {
        let mut delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
        if let Some(details) = &self.turn.stop_details {
            delta["stop_details"] = details.clone();
        }
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.output_tokens()}})
    }

    /// The block with the fields that the script may leave out.
    fn finished(&self, index: usize, block: &Value) -> Value {
        let mut block = block.clone();
        match block.get("type").and_then(Value::as_str) {
            Some("tool_use") => {
                self.name_call(index, "toolu", &mut block);
                if let Some(Value::String(raw)) = block.as_object_mut().and_then(|map| map.shift_remove("input_json")) {
                    block["input"] = serde_json::from_str(&raw).unwrap_or_else(|_| json!({}));
                }
            }
            Some("server_tool_use") => self.name_call(index, "srvtoolu", &mut block),
            Some("thinking") if block.get("signature").is_none() => block["signature"] = SIGNATURE.into(),
            _ => {}
        }
        block
    }

    fn name_call(&self, index: usize, prefix: &str, block: &mut Value) {
        if block.get("id").is_none() {
            block["id"] = format!("{prefix}_{}_{index}", self.number.tag()).into();
        }
        if block.get("input").is_none() {
            block["input"] = json!({});
        }
    }

    fn pieces(&self, index: usize, block: &Value) -> Pieces {
        let mut start = self.finished(index, block);
        let deltas = match start.get("type").and_then(Value::as_str) {
            Some("text") => split(&take_text(&mut start, "text"))
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect(),
            Some("thinking") => {
                let thinking = take_text(&mut start, "thinking");
                let signature = take_text(&mut start, "signature");
                split(&thinking)
                    .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                    .chain([json!({"type": "signature_delta", "signature": signature})])
                    .collect()
            }
            Some("tool_use" | "server_tool_use") => {
                let raw = block.get("input_json").and_then(Value::as_str).map(str::to_owned);
                let input = std::mem::replace(&mut start["input"], Value::Object(Map::new()));
                split(&raw.unwrap_or_else(|| spaced_json(&input)))
                    .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                    .collect()
            }
            _ => Vec::new(),
        };
        Pieces { start, deltas }
    }
}

/// A block as a stream opens it, and what it is filled with.
struct Pieces {
    start: Value,
    deltas: Vec<Value>,
}

pub(crate) fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or("message");
    format!("event: {name}\ndata: {data}\n\n")
}

fn take_text(block: &mut Value, key: &str) -> String {
    match std::mem::replace(&mut block[key], Value::String(String::new())) {
        Value::String(text) => text,
        _ => String::new(),
    }
}

fn split(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(DELTA_CHARS).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// JSON with a space after `:` and `,`, as models write it.
fn spaced_json(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        // A `Value` always serialises; if that ever changes, the compact form is as good.
        Err(_) => value.to_string(),
    }
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(turn: &ScriptedAnswer) -> Vec<Value> {
        let answer = AnswerIds { turn, number: Number::Tooled(1), model: "m" };
        let parse = |event: &String| {
            serde_json::from_str(event.split_once("\ndata: ").unwrap().1.strip_suffix("\n\n").unwrap()).unwrap()
        };
        answer.events().iter().map(parse).collect()
    }

    fn turn(content: &Value) -> ScriptedAnswer {
        serde_json::from_value(json!({"content": content})).unwrap()
    }

    #[test]
    fn text_and_a_tool_call_are_streamed_as_captured() {
        let events = data(&turn(&json!([
            {"type": "text", "text": "Hello there, this is streamed text."},
            {"type": "tool_use", "name": "Bash", "input": {"command": "echo hi"}},
        ])));
        let usage = json!({"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3,
            "output_tokens": 1, "service_tier": "standard"});
        assert_eq!(
            events,
            [
                json!({"type": "message_start", "message": {"id": "msg_000001", "type": "message", "role": "assistant",
                    "model": "m", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": "Hello there, this is"}}),
                json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": " streamed text."}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block":
                    {"type": "tool_use", "id": "toolu_000001_1", "name": "Bash", "input": {}}}),
                json!({"type": "content_block_delta", "index": 1,
                    "delta": {"type": "input_json_delta", "partial_json": "{\"command\": \"echo hi"}}),
                json!({"type": "content_block_delta", "index": 1,
                    "delta": {"type": "input_json_delta", "partial_json": "\"}"}}),
                json!({"type": "content_block_stop", "index": 1}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                    "usage": {"output_tokens": 25}}),
                json!({"type": "message_stop"}),
            ]
        );
    }

    #[test]
    fn thinking_is_signed_and_unknown_blocks_pass_through() {
        let events = data(&turn(&json!([
            {"type": "thinking", "thinking": "let me see"},
            {"type": "redacted_thinking", "data": "zz"},
        ])));
        assert_eq!(events[1]["content_block"], json!({"type": "thinking", "thinking": "", "signature": ""}));
        assert_eq!(events[3]["delta"], json!({"type": "signature_delta", "signature": "c2ln"}));
        assert_eq!(events[5]["content_block"], json!({"type": "redacted_thinking", "data": "zz"}));
        assert_eq!(events[7]["delta"]["stop_reason"], "end_turn");
    }

    #[test]
    fn counts_of_the_script_go_over_the_defaults() {
        let mut turn = turn(&json!([]));
        turn.usage = json!({"input_tokens": 100_000, "output_tokens": 1000}).as_object().cloned();
        let events = data(&turn);
        assert_eq!(events[0]["message"]["usage"]["input_tokens"], 100_000);
        assert_eq!(events[0]["message"]["usage"]["output_tokens"], 1000);
        assert_eq!(events[0]["message"]["usage"]["cache_read_input_tokens"], 3);
        assert_eq!(events[1]["usage"], json!({"output_tokens": 1000}));
    }

    #[test]
    fn pieces_join_to_what_was_scripted_whatever_the_characters() {
        let input = json!({"a": "é😀\u{2028}\"\\".repeat(30), "b": [1, {"c": null}]});
        let events = data(&turn(&json!([{"type": "tool_use", "name": "X", "input": input}])));
        let joined: String = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
        assert_eq!(serde_json::from_str::<Value>(&joined).unwrap(), input);
        assert!(joined.ends_with("\"b\": [1, {\"c\": null}]}"), "{joined}");
    }

    #[test]
    fn broken_input_is_sent_as_it_stands() {
        let events = data(&turn(&json!([{"type": "tool_use", "name": "X", "input_json": "{\"a\": "}])));
        let start = json!({"type": "tool_use", "name": "X", "id": "toolu_000001_0", "input": {}});
        assert_eq!(events[1]["content_block"], start);
        assert_eq!(events[2]["delta"]["partial_json"], "{\"a\": ");
    }
}
