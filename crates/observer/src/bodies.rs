//! Bodies of requests and answers, where the user released them: as events, and as files with an index.
//!
//! A body is what is sent, without what the model thought and without known secrets. Headers are not part of it.

use crate::record::{Recorder, cut};
use crate::state::{ReceivedBody, SentBody};
use model::Reply;
use serde_json::{Value, json};
use std::path::Path;
use telemetry::{Event, REDACTED, RawBodies};
use turn::Role;

/// Of whom a body is told.
pub(crate) struct BodyOwner<'a> {
    pub(crate) role: &'a Role,
    pub(crate) model: &'a str,
    pub(crate) source: &'a str,
    pub(crate) request_id: Option<&'a str>,
    /// The last entry of the answer in the transcript.
    pub(crate) entry: Option<&'a str>,
}

impl Recorder {
    /// A request leaves. `body` is asked only where bodies are released.
    pub(crate) fn body_sent(&self, owner: &BodyOwner, body: &dyn Fn() -> Option<String>) -> Option<SentBody> {
        let bodies = self.telemetry.raw_bodies();
        if !bodies.is_on() {
            return None;
        }
        let text = self.released(serde_json::from_str(&body()?).ok()?);
        let id = telemetry::random_id();
        let file = bodies.write_request(&id, &text);
        let event = self.body_event("api_request_body", owner, &text, file.as_deref());
        self.record(owner.role, event.with("request_body_id", id.as_str()));
        Some(SentBody { id, file })
    }

    /// The answer to such a request, to be told of when its last entry is written.
    pub(crate) fn body_received(&self, sent: &SentBody, reply: &Reply) -> ReceivedBody {
        ReceivedBody { text: self.released(message(reply)), message_id: reply.id.clone(), sent: sent.clone() }
    }

    pub(crate) fn tell_received(&self, owner: &BodyOwner, body: &ReceivedBody) {
        let (bodies, sent) = (self.telemetry.raw_bodies(), &body.sent);
        let file = bodies.write_response(owner.request_id, &sent.id, &body.text);
        let event = self
            .body_event("api_response_body", owner, &body.text, file.as_deref())
            .with("request_body_id", sent.id.as_str())
            .with_some("request_id", owner.request_id)
            .with("message.id", body.message_id.as_str())
            .with_some("message.uuid", owner.entry);
        self.record(owner.role, event);
        if let Some(file) = file {
            bodies.append_index(&json!({
                "timestamp": telemetry::timestamp(),
                "session_id": self.state().session_id,
                "query_source": owner.source,
                "model": owner.model,
                "request_id": owner.request_id,
                "message_id": body.message_id,
                "message_uuid": owner.entry,
                "request_file": sent.file.as_deref().map(shown_path),
                "response_file": shown_path(&file),
            }));
        }
    }

    /// What all events of bodies have.
    fn body_event(&self, name: &'static str, owner: &BodyOwner, text: &str, file: Option<&Path>) -> Event {
        let event = Event::new(name);
        let event = match self.telemetry.raw_bodies() {
            RawBodies::Files(_) => {
                event.with_some("body_ref", file.map(shown_path)).with("body_length", text.len() as u64)
            }
            RawBodies::Inline | RawBodies::Off => {
                let short = cut(text, self.telemetry.content_max());
                let is_cut = short.is_some();
                event
                    .with("body", short.unwrap_or_else(|| text.to_owned()))
                    .with("body_length", text.encode_utf16().count() as u64)
                    .with_some("body_truncated", is_cut.then_some("true"))
            }
        };
        event.with("model", owner.model).with("query_source", owner.source)
    }

    /// The body as it may be shown.
    fn released(&self, mut body: Value) -> String {
        hide_thinking(&mut body);
        self.hidden(&body.to_string())
    }
}

impl<'a> BodyOwner<'a> {
    /// Of a request before it is answered.
    pub(crate) fn asking(role: &'a Role, model: &'a str, source: &'a str) -> Self {
        Self { role, model, source, request_id: None, entry: None }
    }
}

/// A path that is no text is told as well as text can.
fn shown_path(path: &Path) -> String {
    path.display().to_string()
}

/// The answer as the API would have sent it at once.
fn message(reply: &Reply) -> Value {
    let mut message = json!({
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": reply.blocks,
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "usage": reply.usage,
    });
    if let Some(details) = &reply.stop_details {
        message["stop_details"] = details.clone();
    }
    message
}

/// Takes out what the model thought: of earlier answers in a request, of its own in an answer.
fn hide_thinking(body: &mut Value) {
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        messages.iter_mut().for_each(hide_thinking);
    }
    // Blocks of a message, and items of OpenAI's responses.
    for list in ["content", "input"] {
        if let Some(Value::Array(blocks)) = body.get_mut(list) {
            blocks.iter_mut().for_each(hide_thought);
        }
    }
}

fn hide_thought(block: &mut Value) {
    if !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking" | "reasoning")) {
        return;
    }
    for name in ["thinking", "signature", "data", "summary", "content", "encrypted_content"] {
        if let Some(value) = block.get_mut(name) {
            *value = REDACTED.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_taken_out_of_requests_and_answers() {
        let thought = json!({"type": "thinking", "thinking": "secret", "signature": "secret"});
        let unseen = json!({"type": "redacted_thinking", "data": "secret"});
        let said = json!({"type": "text", "text": "said"});
        let content = json!([thought, unseen, said, {"type": "tool_use", "input": {"thinking": "kept"}}]);
        let mut request = json!({"model": "m", "messages": [
            {"role": "user", "content": "plain"}, {"role": "assistant", "content": content.clone()}]});
        let mut answer = json!({"id": "a", "content": content});
        hide_thinking(&mut request);
        hide_thinking(&mut answer);
        for body in [&request["messages"][1], &answer] {
            let text = body.to_string();
            assert!(!text.contains("secret") && text.contains("said") && text.contains("kept"), "{text}");
            assert_eq!(body["content"][0]["thinking"], REDACTED);
        }
        assert_eq!(request["messages"][0]["content"], "plain");
        let mut other = json!({"input": [
            {"type": "reasoning", "id": "r", "summary": [{"text": "secret"}], "encrypted_content": "secret"}, said]});
        hide_thinking(&mut other);
        assert!(!other.to_string().contains("secret") && other["input"][1]["text"] == "said", "{other}");
    }
}
