//! Writes the events of a Messages stream.

use super::convert::error_event;
use serde_json::{Value, json};
use std::hash::{BuildHasher as _, RandomState};

/// The block that grows with text or thinking. Tool calls may grow beside each other and are kept by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growing {
    Text(usize),
    Thinking(usize),
}

#[derive(Debug, Default)]
pub(super) struct Writer {
    is_started: bool,
    is_ended: bool,
    growing: Option<Growing>,
    next_index: usize,
    /// Blocks of calls that are not closed yet.
    open_calls: Vec<usize>,
    pub(super) has_calls: bool,
    pub(super) is_refused: bool,
    events: Vec<Value>,
    /// Names that tools were sent under, and their own.
    names: Vec<(String, String)>,
}

impl Writer {
    pub(super) fn with_names(names: Vec<(String, String)>) -> Self {
        Self { names, ..Self::default() }
    }

    /// What was written since the last time.
    pub(super) fn written(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    /// Begins the message; later calls do nothing.
    pub(super) fn start(&mut self, id: &str, model: &str) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        self.events.push(json!({"type": "message_start", "message": {
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
        }}));
    }

    pub(super) fn text(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let index = if let Some(Growing::Text(index)) = self.growing {
            index
        } else {
            let index = self.open(&json!({"type": "text", "text": ""}));
            self.growing = Some(Growing::Text(index));
            index
        };
        self.delta(index, &json!({"type": "text_delta", "text": piece}));
    }

    pub(super) fn refusal(&mut self, piece: &str) {
        self.is_refused = true;
        self.text(piece);
    }

    pub(super) fn thinking(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let index = self.thinking_block();
        self.delta(index, &json!({"type": "thinking_delta", "thinking": piece}));
    }

    /// Ends the thinking with what is needed to send it back.
    pub(super) fn sign(&mut self, signature: &str) {
        let index = self.thinking_block();
        self.delta(index, &json!({"type": "signature_delta", "signature": signature}));
        self.close_growing();
    }

    fn thinking_block(&mut self) -> usize {
        if let Some(Growing::Thinking(index)) = self.growing {
            return index;
        }
        let index = self.open(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        self.growing = Some(Growing::Thinking(index));
        index
    }

    /// Begins a call and returns its block.
    pub(super) fn call(&mut self, id: &str, name: &str) -> usize {
        let own = self.names.iter().find(|(sent, _)| sent == name).map(|(_, own)| own.clone());
        let name = own.unwrap_or_else(|| name.to_owned());
        // Some servers give no ids; results need one to refer to.
        let made = || format!("call_{:016x}", RandomState::new().hash_one(self.next_index));
        let id = if id.is_empty() { made() } else { id.to_owned() };
        let index = self.open(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
        self.open_calls.push(index);
        self.has_calls = true;
        index
    }

    pub(super) fn arguments(&mut self, index: usize, piece: &str) {
        if !piece.is_empty() {
            self.delta(index, &json!({"type": "input_json_delta", "partial_json": piece}));
        }
    }

    pub(super) fn close_call(&mut self, index: usize) {
        if let Some(at) = self.open_calls.iter().position(|open| *open == index) {
            self.open_calls.remove(at);
            self.events.push(json!({"type": "content_block_stop", "index": index}));
        }
    }

    pub(super) fn close_growing(&mut self) {
        if let Some(Growing::Text(index) | Growing::Thinking(index)) = self.growing.take() {
            self.events.push(json!({"type": "content_block_stop", "index": index}));
        }
    }

    pub(super) fn error(&mut self, error: &Value) {
        self.events.push(error_event(error));
    }

    /// Ends the message; later calls do nothing.
    pub(super) fn end(&mut self, stop_reason: &str, usage: &Value) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        self.start("", "");
        self.close_growing();
        for index in std::mem::take(&mut self.open_calls) {
            self.events.push(json!({"type": "content_block_stop", "index": index}));
        }
        let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
        self.events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        self.events.push(json!({"type": "message_stop"}));
    }

    fn open(&mut self, block: &Value) -> usize {
        self.start("", "");
        self.close_growing();
        let index = self.next_index;
        self.next_index += 1;
        self.events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        index
    }

    fn delta(&mut self, index: usize, delta: &Value) {
        self.events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
}
