//! The further attributes of spans, and the event with the system prompt, where detailed tracing is on.
//!
//! Content needs a switch of its own. Names and files stand in reminders and in the system prompt, so those need details to be
//! released beside prompts; and what tools returned needs their content to be.

use crate::detailed::RequestDetails;
use crate::record::Recorder;
use crate::state::Call;
use model::Reply;
use telemetry::{Event, Span, Value};
use turn::{CallResult, Role};

/// Characters of the system prompt on a span.
const PREVIEW: usize = 500;

impl Recorder {
    /// `body` is asked only where detailed tracing is on.
    pub(crate) fn details_of(&self, role: &Role, body: &dyn Fn() -> Option<String>) -> Option<Box<RequestDetails>> {
        let body = if self.telemetry.is_detailed() { body() } else { None };
        let details = Box::new(RequestDetails::of_body(&body?)?);
        self.tell_system_prompt(role, &details.system);
        Some(details)
    }

    fn releases_names(&self) -> bool {
        self.telemetry.gates().prompts() && self.details()
    }

    /// Once for each system prompt, and again after a compaction.
    fn tell_system_prompt(&self, role: &Role, system: &str) {
        if system.is_empty() || !self.releases_names() {
            return;
        }
        let hash = telemetry::sha256(system.as_bytes());
        if self.state().told_prompts.insert(hash.clone()) {
            let event = Event::new("system_prompt")
                .with("system_prompt_hash", hash)
                .with("system_prompt_length", system.encode_utf16().count() as u64)
                .with("system_prompt", self.content(system));
            self.record(role, event);
        }
    }

    pub(crate) fn detailed_request(&self, span: Span, role: &Role, source: &str, details: &RequestDetails) -> Span {
        let gates = self.telemetry.gates();
        // What an agent is told is the input of a call.
        let shows_prompts = gates.prompts() && (role.is_main() || self.details());
        let names = self.releases_names();
        let content = |text: String, is_released: bool| is_released.then(|| self.content(&text));
        let preview = details.system.chars().take(PREVIEW).collect();
        span.with("query_source", source)
            .with("tools", Value::List(details.tool_names(self.details())))
            .with("tools_count", details.tools.len() as u64)
            .with("system_prompt_hash", telemetry::sha256(details.system.as_bytes()))
            .with("system_prompt_length", details.system.encode_utf16().count() as u64)
            .with("new_context_message_count", details.new_messages)
            .with("system_reminders_count", details.reminders.len() as u64)
            .with_some("new_context", content(details.new_context(gates.tool_content()), shows_prompts))
            .with_some("system_reminders", content(details.reminders.join("\n"), names))
            .with_some("system_prompt_preview", content(preview, names))
    }

    pub(crate) fn detailed_answer(&self, span: Span, reply: &Reply) -> Span {
        let gates = self.telemetry.gates();
        let text: String = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        let is_released = gates.prompts() && gates.responses();
        span.with("response.has_tool_call", reply.blocks.iter().any(|block| block["type"] == "tool_use"))
            .with_some("response.model_output", is_released.then(|| self.content(&text)))
    }

    pub(crate) fn detailed_call(&self, span: Span, call: &Call, result: Option<&CallResult>) -> Span {
        if !self.telemetry.is_detailed() {
            return span;
        }
        let result = result.filter(|_| self.telemetry.gates().tool_content());
        span.with_some("tool_input", self.details().then(|| self.content(&call.input.to_string())))
            .with_some("new_context", result.map(|result| self.content(&result.words())))
    }
}
