//! The stream of `POST /v1/responses`.

use super::convert::{REASONING_MARK, usage};
use super::writer::Writer;
use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct ResponsesStream {
    writer: Writer,
    calls: Vec<Call>,
    /// Items whose text has come in pieces; their whole text is not written a second time.
    spoken: Vec<u64>,
}

#[derive(Debug)]
struct Call {
    item: u64,
    block: usize,
    has_arguments: bool,
}

impl ResponsesStream {
    pub(super) fn new(names: Vec<(String, String)>) -> Self {
        Self { writer: Writer::with_names(names), ..Self::default() }
    }

    pub(super) fn take(&mut self, data: &[u8]) -> Result<Vec<Value>, serde_json::Error> {
        // Some servers end the stream as the older format does.
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Vec::new());
        }
        let event: Value = serde_json::from_slice(data)?;
        let item = event["output_index"].as_u64().unwrap_or_default();
        let delta = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "response.created" => {
                let text = |key: &str| event["response"][key].as_str().unwrap_or_default();
                self.writer.start(text("id"), text("model"));
            }
            "response.output_item.added" => self.added(item, &event["item"]),
            "response.output_text.delta" => {
                self.spoken.push(item);
                self.writer.text(delta);
            }
            "response.refusal.delta" => {
                self.spoken.push(item);
                self.writer.refusal(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.spoken.push(item);
                self.writer.thinking(delta);
            }
            "response.reasoning_summary_part.added" if event["summary_index"].as_u64() > Some(0) => {
                self.writer.thinking("\n\n");
            }
            "response.function_call_arguments.delta" => self.arguments(item, delta),
            "response.output_item.done" => self.done(item, &event["item"]),
            "response.completed" | "response.incomplete" | "response.done" => self.end(&event["response"]),
            "response.failed" => self.writer.error(&event["response"]["error"]),
            "error" => self.writer.error(if event["error"].is_object() { &event["error"] } else { &event }),
            _ => {}
        }
        self.spoken.dedup();
        Ok(self.writer.written())
    }

    fn added(&mut self, item: u64, value: &Value) {
        if value["type"] == "function_call" {
            let text = |key: &str| value[key].as_str().unwrap_or_default();
            let block = self.writer.call(text("call_id"), text("name"));
            self.calls.push(Call { item, block, has_arguments: false });
        }
    }

    fn arguments(&mut self, item: u64, piece: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.item == item) {
            call.has_arguments |= !piece.is_empty();
            self.writer.arguments(call.block, piece);
        }
    }

    /// The item as a whole: what has not come in pieces is written now.
    fn done(&mut self, item: u64, value: &Value) {
        match value["type"].as_str() {
            Some("function_call") => {
                if !self.calls.iter().any(|call| call.item == item) {
                    self.added(item, value);
                }
                let Some(call) = self.calls.iter().find(|call| call.item == item) else { return };
                let (block, is_whole) = (call.block, call.has_arguments);
                if !is_whole {
                    self.writer.arguments(block, value["arguments"].as_str().unwrap_or_default());
                }
                self.writer.close_call(block);
            }
            Some("message") => {
                if !self.spoken.contains(&item) {
                    for part in value["content"].as_array().into_iter().flatten() {
                        self.writer.text(part["text"].as_str().unwrap_or_default());
                        if let Some(refusal) = part["refusal"].as_str() {
                            self.writer.refusal(refusal);
                        }
                    }
                }
                self.writer.close_growing();
            }
            Some("reasoning") => self.reasoned(item, value),
            _ => {}
        }
    }

    /// The item is kept whole beside its text: the endpoint wants it back as it came.
    fn reasoned(&mut self, item: u64, value: &Value) {
        if !self.spoken.contains(&item) {
            for part in value["summary"].as_array().into_iter().flatten() {
                self.writer.thinking(part["text"].as_str().unwrap_or_default());
            }
        }
        self.writer.sign(&format!("{REASONING_MARK}{value}"));
    }

    fn end(&mut self, response: &Value) {
        let stop = match response["incomplete_details"]["reason"].as_str() {
            Some("content_filter") => "refusal",
            Some(_) => "max_tokens",
            None if self.writer.is_refused => "refusal",
            None if self.writer.has_calls => "tool_use",
            None => "end_turn",
        };
        self.writer.end(stop, &usage(&response["usage"]));
    }
}
