//! One turn of an ACP agent: its updates as the loop's events.
//!
//! A message is what has one `messageId`; without ids, a tool call or a plan ends it. Only the last message is the
//! answer: agents put their warnings into messages before it.

use super::calls::Call;
use super::permission::Decision;
use serde_json::{Value, json};
use std::collections::HashMap;
use wire::{Assistant, Event, Partial, Raw, Retry, System, ToolDenied, User};

/// Of one message. A longer one keeps its end, where promises stand.
const MESSAGE_MAX: usize = 512 * 1024;

/// Calls of one turn that are remembered.
const CALLS_MAX: usize = 10_000;

/// A prompt of the loop as blocks of the protocol.
pub(super) fn prompt_blocks(content: &Value) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    match content {
        Value::String(plain) => vec![text(plain)],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).map(text).collect(),
        _ => Vec::new(),
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    number: u64,
    model: String,
    is_partial: bool,
    is_cancelled: bool,
    /// What the agent calls the message that is being said.
    message: Option<String>,
    messages: u64,
    text: String,
    thought: String,
    /// The last whole message.
    last: String,
    calls: HashMap<String, Call>,
    pub(super) call_count: u64,
    plans: u64,
    /// How often the agent said that it asks its model again.
    retries: u32,
}

impl Turn {
    pub(super) fn new(number: u64, model: String, is_partial: bool) -> Self {
        Self {
            number,
            model,
            is_partial,
            is_cancelled: false,
            message: None,
            messages: 0,
            text: String::new(),
            thought: String::new(),
            last: String::new(),
            calls: HashMap::new(),
            call_count: 0,
            plans: 0,
            retries: 0,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    pub(super) fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// After [`Turn::end`]: the message that counts.
    pub(super) fn last(&self) -> &str {
        &self.last
    }

    /// Updates that are not known pass.
    pub(super) fn update(&mut self, update: &Value) -> Vec<Event> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.said(update),
            Some("agent_thought_chunk") => self.thought(update),
            Some("tool_call" | "tool_call_update") => self.call(update),
            Some("plan") => self.plan(&update["entries"]),
            Some("session_info_update") => self.retry(&update["_meta"]["codex"]["error"]).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn said(&mut self, update: &Value) -> Vec<Event> {
        let Some(text) = update["content"]["text"].as_str() else { return Vec::new() };
        let mut events = self.flush_thought();
        let id = update["messageId"].as_str();
        if id.is_some() && id != self.message.as_deref() && !self.text.is_empty() {
            events.extend(self.flush_text());
        }
        self.message = id.map(str::to_owned);
        self.text.push_str(text);
        if self.text.len() > 2 * MESSAGE_MAX {
            self.text.drain(..self.text.ceil_char_boundary(self.text.len() - MESSAGE_MAX));
        }
        events.extend(self.piece("text_delta", "text", text));
        events
    }

    fn thought(&mut self, update: &Value) -> Vec<Event> {
        let Some(text) = update["content"]["text"].as_str() else { return Vec::new() };
        // With ids, thoughts may come between the pieces of one message.
        let mut events = if self.message.is_none() { self.flush_text() } else { Vec::new() };
        if self.thought.len() < MESSAGE_MAX {
            self.thought.push_str(text);
        }
        events.extend(self.piece("thinking_delta", "thinking", text));
        events
    }

    fn piece(&self, kind: &str, key: &str, text: &str) -> Option<Event> {
        let event = json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}});
        let event = Raw::parse(&event.to_string()).filter(|_| self.is_partial)?;
        Some(Event::StreamEvent(Box::new(Partial { event, ..Partial::default() })))
    }

    fn flush(&mut self) -> Vec<Event> {
        let mut events = self.flush_thought();
        events.extend(self.flush_text());
        events
    }

    fn flush_thought(&mut self) -> Vec<Event> {
        let thought = std::mem::take(&mut self.thought);
        if thought.is_empty() {
            Vec::new()
        } else {
            vec![self.block(&json!({"type": "thinking", "thinking": thought}))]
        }
    }

    fn flush_text(&mut self) -> Vec<Event> {
        let text = std::mem::take(&mut self.text);
        self.message = None;
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.last.clone_from(&text);
        vec![self.block(&json!({"type": "text", "text": text}))]
    }

    fn block(&mut self, block: &Value) -> Event {
        self.messages += 1;
        let message = json!({
            "id": format!("acp-{}-{}", self.number, self.messages), "type": "message", "role": "assistant",
            "model": self.model, "content": [block], "stop_reason": null,
        });
        Event::Assistant(Box::new(Assistant { message: message.into(), ..Assistant::default() }))
    }

    fn call(&mut self, update: &Value) -> Vec<Event> {
        let Some(id) = update["toolCallId"].as_str().map(str::to_owned) else { return Vec::new() };
        if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&id) {
            return Vec::new();
        }
        let mut events = self.flush();
        let call = self.calls.entry(id.clone()).or_default();
        if call.is_done {
            return events;
        }
        call.merge(update);
        if call.is_ready() {
            events.extend(self.tell_call(&id));
        }
        events.extend(self.tell_result(&id, false));
        events
    }

    fn tell_call(&mut self, id: &str) -> Option<Event> {
        let call = self.calls.get_mut(id).filter(|call| !call.is_told)?;
        call.is_told = true;
        let block = json!({"type": "tool_use", "id": id, "name": call.name(), "input": call.input()});
        self.call_count += 1;
        // What was said before a call is not the answer.
        self.last.clear();
        Some(self.block(&block))
    }

    fn tell_result(&mut self, id: &str, is_over: bool) -> Vec<Event> {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.is_done) else { return Vec::new() };
        let failed = match (call.ending(), is_over) {
            (Some(failed), _) => failed,
            (None, true) => true,
            (None, false) => return Vec::new(),
        };
        call.is_done = true;
        let result =
            json!({"type": "tool_result", "tool_use_id": id, "content": call.result_text(), "is_error": failed});
        let mut events: Vec<Event> = self.tell_call(id).into_iter().collect();
        events.push(result_event(result));
        events
    }

    /// A plan is the to-do list of the loop's screen.
    fn plan(&mut self, entries: &Value) -> Vec<Event> {
        let Some(entries) = entries.as_array() else { return Vec::new() };
        let mut events = self.flush();
        self.plans += 1;
        let id = format!("acp-plan-{}-{}", self.number, self.plans);
        let todo = |entry: &Value| {
            let text = entry["content"].as_str().unwrap_or_default();
            json!({"content": text, "activeForm": text, "status": entry["status"].as_str().unwrap_or("pending")})
        };
        let input = json!({"todos": entries.iter().map(todo).collect::<Vec<_>>()});
        self.last.clear();
        events.push(self.block(&json!({"type": "tool_use", "id": id, "name": "TodoWrite", "input": input})));
        events
            .push(result_event(json!({"type": "tool_result", "tool_use_id": id, "content": "ok", "is_error": false})));
        events
    }

    /// codex-acp says so when it cannot reach its model and tries again, without end.
    fn retry(&mut self, error: &Value) -> Option<Event> {
        if error["willRetry"] != true {
            return None;
        }
        self.retries += 1;
        let info = error["codexErrorInfo"].as_object().and_then(|info| info.values().next());
        let status = info.and_then(|info| info["httpStatusCode"].as_u64()).and_then(|status| status.try_into().ok());
        let words = error["message"].as_str().unwrap_or_default();
        let retry =
            Retry { attempt: self.retries, error_status: status, error: words.to_owned().into(), ..Retry::default() };
        Some(Event::System(System::ApiRetry(retry)))
    }

    /// A call that is first named by a permission question.
    pub(super) fn asked(&mut self, call: &Value) -> Vec<Event> {
        let mut events = self.call(call);
        if let Some(id) = call["toolCallId"].as_str() {
            events.extend(self.tell_call(id));
        }
        events
    }

    pub(super) fn kind_of(&self, call: &Value) -> String {
        let known = call["toolCallId"].as_str().and_then(|id| self.calls.get(id));
        known.map_or_else(String::new, |call| call.kind.clone())
    }

    pub(super) fn denied(&self, call: &Value, decision: Decision) -> Option<Event> {
        let id = call["toolCallId"].as_str()?;
        let name = self.calls.get(id).map_or("Tool", Call::name);
        let denied = ToolDenied {
            tool_name: name.to_owned(),
            tool_use_id: id.to_owned(),
            message: format!("nobody is there to be asked, and the mode {} does not allow it", decision.mode()),
            ..ToolDenied::default()
        };
        Some(Event::System(System::PermissionDenied(Box::new(denied))))
    }

    /// Everything that is still open is closed.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let mut open: Vec<String> =
            self.calls.iter().filter(|(_, call)| call.is_told && !call.is_done).map(|(id, _)| id.clone()).collect();
        open.sort();
        let mut events: Vec<Event> = open.iter().flat_map(|id| self.tell_result(id, true)).collect();
        events.extend(self.flush());
        events
    }
}

fn result_event(result: Value) -> Event {
    let mut message = json!({"role": "user"});
    message["content"] = vec![result].into();
    Event::User(Box::new(User { message: message.into(), ..User::default() }))
}
