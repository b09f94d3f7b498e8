//! The stream of `POST /v1/chat/completions`, in the variants that servers in use send.

use super::convert::usage;
use super::writer::Writer;
use serde_json::{Value, json};

/// Ends the stream; it is no JSON.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Default)]
pub(crate) struct ChatStream {
    writer: Writer,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Value,
}

/// A call that grows: the server's number and id for it, and the block of ours.
#[derive(Debug)]
struct Call {
    number: Option<u64>,
    id: String,
    block: usize,
}

impl ChatStream {
    pub(super) fn new(names: Vec<(String, String)>) -> Self {
        Self { writer: Writer::with_names(names), ..Self::default() }
    }

    pub(super) fn take(&mut self, data: &[u8]) -> Result<Vec<Value>, serde_json::Error> {
        if data.trim_ascii() == DONE {
            self.finish.get_or_insert_with(|| "stop".to_owned());
            return Ok(self.close());
        }
        let chunk: Value = serde_json::from_slice(data)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            self.writer.error(error);
            return Ok(self.writer.written());
        }
        let text = |key: &str| chunk[key].as_str().unwrap_or_default();
        self.writer.start(text("id"), text("model"));
        if chunk["usage"].is_object() {
            self.usage = usage(&chunk["usage"]);
        }
        // More than one choice comes only if it is asked for, which we never do.
        let choice = &chunk["choices"][0];
        self.delta(&choice["delta"]);
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
        }
        Ok(self.writer.written())
    }

    /// Usage comes behind the finish reason, so the message is ended by the stream's own end.
    pub(super) fn close(&mut self) -> Vec<Value> {
        if let Some(reason) = &self.finish {
            let stop = stop_reason(reason, self.writer.has_calls, self.writer.is_refused);
            let usage = if self.usage.is_object() { self.usage.clone() } else { json!({}) };
            self.writer.end(stop, &usage);
        }
        self.writer.written()
    }

    fn delta(&mut self, delta: &Value) {
        for name in ["reasoning_content", "reasoning"] {
            if let Some(piece) = delta[name].as_str() {
                self.writer.thinking(piece);
                break;
            }
        }
        match &delta["content"] {
            Value::String(piece) => self.writer.text(piece),
            Value::Array(parts) => {
                for piece in parts.iter().filter_map(|part| part["text"].as_str()) {
                    self.writer.text(piece);
                }
            }
            _ => {}
        }
        if let Some(piece) = delta["refusal"].as_str().filter(|piece| !piece.is_empty()) {
            self.writer.refusal(piece);
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(piece);
        }
    }

    fn call(&mut self, piece: &Value) {
        let id = piece["id"].as_str().unwrap_or_default();
        let name = piece["function"]["name"].as_str().unwrap_or_default();
        let block = self.known(piece["index"].as_u64(), id, name).unwrap_or_else(|| {
            let block = self.writer.call(id, name);
            self.calls.push(Call { number: piece["index"].as_u64(), id: id.to_owned(), block });
            block
        });
        match &piece["function"]["arguments"] {
            Value::String(arguments) => self.writer.arguments(block, arguments),
            Value::Null => {}
            whole => self.writer.arguments(block, &whole.to_string()),
        }
    }

    /// The call that a piece goes on with. Some servers number no calls, some number all of them alike: an id that is
    /// new begins a call, and without an id and a number the last one goes on.
    fn known(&self, number: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same_id = |call: &&Call| id.is_empty() || call.id.is_empty() || call.id == id;
        let found = match number {
            Some(_) => self.calls.iter().rev().filter(|call| call.number == number).find(same_id),
            None if id.is_empty() && name.is_empty() => self.calls.last(),
            None => self.calls.iter().rev().find(|call| !id.is_empty() && call.id == id),
        };
        found.map(|call| call.block)
    }
}

fn stop_reason(finish: &str, has_calls: bool, is_refused: bool) -> &'static str {
    match finish {
        "length" => "max_tokens",
        "content_filter" => "refusal",
        _ if is_refused => "refusal",
        "tool_calls" | "function_call" => "tool_use",
        _ if has_calls => "tool_use",
        _ => "end_turn",
    }
}
