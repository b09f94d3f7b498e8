//! The reader of an agent's output: each line becomes events and adds to the sums.
//!
//! Agents that speak stream-json are read as they speak. One that answers with plain text or with one
//! JSON object, over however many lines, is understood at its end. Unknown events are kept in the
//! recording and otherwise left alone; a broken line between good ones is skipped with a warning.

use crate::agent_output::{AgentOutput, AgentResult, CONTEXT_WINDOW};
use crate::outage::{Outage, is_outage_status, outage_in};
use crate::reset::{LimitHit, Reset, limit_in, moment};
use crate::text::bounded;
use crate::{ApiRetry, EventKind, Tokens, UsageSoFar, digest, questions};
use serde_json::Value;
use std::collections::BTreeMap;
use wire::{
    Assistant, Block, Event, FromMap as _, Line, LineError, Message, ModelUsage, Outcome, PartialLine, Piece,
    RateLimitInfo, System, ToolResult, ToolUse, Usage, User,
};

/// What is kept of an answer that is no stream. Longer ones are cut; their end is what counts.
const PLAIN_MAX: usize = 1024 * 1024;
/// Final words: a promise stands at their end, so the end is kept.
const WORDS_MAX: usize = 64 * 1024;
/// What a warning shows of a broken line.
const BROKEN_SHOWN: usize = 120;
/// Of the word that names an API error.
const ERROR_MAX: usize = 100;

/// What tokens of a model cost, in USD. It comes from outside: prices change, and are nobody's decision here.
pub type Price = fn(model: &str, tokens: Tokens) -> f64;

/// Where nobody knows the prices, or nobody asks.
pub fn unpriced(_: &str, _: Tokens) -> f64 {
    0.0
}

#[derive(Debug, Clone)]
pub struct OutputReader {
    iteration: u32,
    price: Price,
    /// The model that was asked for: messages of some agents name none.
    model: String,
    output: AgentOutput,
    /// The message that comes in pieces: whose it is, its id, its model.
    begun: Option<(Option<String>, String, String)>,
    /// Lines that may turn out to be a plain answer.
    plain: String,
    streaming: bool,
}

impl OutputReader {
    pub fn new(iteration: u32) -> Self {
        let mut output = AgentOutput::default();
        output.context_window = CONTEXT_WINDOW;
        Self {
            iteration,
            price: unpriced,
            model: String::new(),
            output,
            begun: None,
            plain: String::new(),
            streaming: false,
        }
    }

    /// One that knows what messages cost before the agent says it.
    pub fn priced(iteration: u32, model: &str, price: Price) -> Self {
        Self { price, model: model.to_owned(), ..Self::new(iteration) }
    }

    pub fn output(&self) -> &AgentOutput {
        &self.output
    }

    pub fn into_output(self) -> AgentOutput {
        self.output
    }

    /// One line without its newline.
    pub fn read_line(&mut self, line: &str) -> Vec<EventKind> {
        let line = line.trim().trim_start_matches('\u{feff}');
        // Pieces of a message are most of the lines, and are read without building anything.
        if let Some(partial) = PartialLine::parse(line) {
            let mut events = self.start_streaming();
            self.session(partial.session_id.as_deref());
            self.piece(partial.piece(), partial.parent_tool_use_id.as_deref(), &mut events);
            return events;
        }
        match Line::parse(line) {
            Ok(None) => Vec::new(),
            Ok(Some(event)) => {
                let mut events = self.start_streaming();
                self.event(event, &mut events);
                events
            }
            Err(LineError::NoType(Value::Array(list))) if list.iter().any(|event| event["type"].is_string()) => {
                let mut events = self.start_streaming();
                for event in list.into_iter().filter_map(|event| Line::from_value(event).ok()) {
                    self.event(event, &mut events);
                }
                events
            }
            Err(_) if self.streaming => vec![self.broken(line)],
            Err(_) => {
                if self.plain.len() + line.len() < PLAIN_MAX {
                    self.plain.push_str(line);
                    self.plain.push('\n');
                }
                Vec::new()
            }
        }
    }

    /// The output is closed: what was no stream is now taken as the answer.
    pub fn end(&mut self) -> Vec<EventKind> {
        let plain = std::mem::take(&mut self.plain);
        let plain = plain.trim();
        if self.streaming || plain.is_empty() {
            return Vec::new();
        }
        let mut events = Vec::new();
        match serde_json::from_str::<Value>(plain) {
            Ok(Value::Object(object)) => {
                self.session(object.get("session_id").and_then(Value::as_str));
                self.result(Outcome::from_map(object), &mut events);
            }
            Ok(Value::String(text)) => self.plain_answer(&text, &mut events),
            _ => self.plain_answer(plain, &mut events),
        }
        events
    }

    /// What was taken for plain text before the first event was noise.
    fn start_streaming(&mut self) -> Vec<EventKind> {
        if std::mem::replace(&mut self.streaming, true) {
            return Vec::new();
        }
        let noise = std::mem::take(&mut self.plain);
        noise.lines().map(|line| self.broken(line)).collect()
    }

    fn broken(&self, line: &str) -> EventKind {
        let text = format!("skipped a line of the agent that is not an event: {}", bounded(line, BROKEN_SHOWN));
        EventKind::Warning { iteration: Some(self.iteration), text }
    }

    fn plain_answer(&mut self, text: &str, events: &mut Vec<EventKind>) {
        self.output.last_text = crate::text::ending(text, WORDS_MAX);
        self.output.answer = Some(AgentResult { text: self.output.last_text.clone(), ..AgentResult::default() });
        self.output.cost_doubtful = true;
        events.push(digest::text(self.iteration, text, None));
    }

    fn session(&mut self, id: Option<&str>) {
        if let Some(id) = id.filter(|id| !id.is_empty()) {
            self.output.session = Some(id.to_owned());
        }
    }

    fn event(&mut self, line: Line, events: &mut Vec<EventKind>) {
        self.session(line.session_id.as_deref());
        match line.event {
            Event::System(system) => self.system(system, events),
            Event::Assistant(assistant) => self.assistant(&assistant, events),
            Event::User(user) => self.user(&user, events),
            Event::StreamEvent(partial) => {
                self.piece(partial.piece(), partial.parent_tool_use_id.as_deref(), events);
            }
            Event::Result(outcome) => self.result(*outcome, events),
            Event::RateLimitEvent(event) => self.rate_limit(&event.rate_limit_info),
            Event::ControlRequest(asked) => events.extend(questions::permission(self.iteration, &asked)),
            Event::Unknown(event) => self.older(&event, events),
            _ => {}
        }
    }

    /// The shape of older agents: calls and results as events of their own.
    fn older(&mut self, event: &Value, events: &mut Vec<EventKind>) {
        let parent = event["parent_tool_use_id"].as_str();
        match event["type"].as_str() {
            Some("tool_use") => self.tool_call(&ToolUse::of(&event["tool_use"]), parent, events),
            Some("tool_result") => self.tool_result(&ToolResult::of(event), parent, events),
            _ => {}
        }
    }

    fn system(&mut self, event: System, events: &mut Vec<EventKind>) {
        match event {
            System::Init(init) => {
                self.output.is_in_turn = true;
                self.output.model = init.model;
                if self.output.model.as_ref().is_some_and(|model| model.contains("[1m]")) {
                    self.output.context_window = 1_000_000;
                }
            }
            System::PermissionDenied(denied) => events.push(EventKind::PermissionDenied {
                iteration: self.iteration,
                tool: denied.tool_name,
                id: denied.tool_use_id,
                message: denied.message,
            }),
            System::ApiRetry(retry) => self.api_retry(&retry, events),
            System::BackgroundTasksChanged(changed) => self.output.agents_at_work = changed.agents().count(),
            _ => {}
        }
    }

    /// The agent waits before it asks the API again. Where it is cut off or dies in that state, the API is why.
    fn api_retry(&mut self, event: &wire::Retry, events: &mut Vec<EventKind>) {
        let retry = ApiRetry {
            iteration: self.iteration,
            attempt: event.attempt,
            most: event.max_retries,
            delay_ms: event.retry_delay_ms,
            status: event.error_status,
            error: bounded(&event.error, ERROR_MAX),
        };
        if retry.status.is_none_or(is_outage_status) {
            self.output.outage = Some(Outage { words: retry.words(), answered: retry.status.is_some() });
        }
        events.push(EventKind::ApiRetry(retry));
    }

    fn assistant(&mut self, event: &Assistant, events: &mut Vec<EventKind>) {
        let parent = event.parent_tool_use_id.as_deref();
        for block in event.message.blocks() {
            match block {
                Block::Text(text) => {
                    if parent.is_none() {
                        self.output.last_text = crate::text::ending(text, WORDS_MAX);
                    }
                    // A refused key is told as the iteration's failure.
                    if event.error.as_deref() != Some("authentication_failed") {
                        events.push(digest::text(self.iteration, text, parent));
                    }
                }
                Block::Thinking(text) => events.extend(digest::thinking(self.iteration, text, parent)),
                Block::ToolUse(call) => self.tool_call(&call, parent, events),
                Block::ToolResult(_) | Block::Other(_) => {}
            }
        }
        let error = event.error.as_deref().unwrap_or_default();
        // An answer of the model means that the API works again.
        self.output.outage = self.output.outage.take().filter(|_| !error.is_empty());
        if error.contains("rate_limit") {
            self.limited(limit_in(&self.output.last_text), &self.output.last_text.clone());
        } else if error.contains("overloaded") || error.contains("server_error") {
            self.output.outage = Some(Outage { words: bounded(&self.output.last_text, 200), answered: true });
        }
        self.usage(&event.message, parent, events);
    }

    fn piece(&mut self, piece: Piece<'_>, parent: Option<&str>, events: &mut Vec<EventKind>) {
        match piece {
            Piece::Text(text) => {
                events.push(EventKind::AgentText(digest::partial(self.iteration, text.into_owned(), parent)));
            }
            Piece::Thinking(text) => {
                events.push(EventKind::AgentThinking(digest::partial(self.iteration, text.into_owned(), parent)));
            }
            Piece::MessageStart { id, model } => {
                self.begun = Some((parent.map(str::to_owned), id.into_owned(), model.into_owned()));
            }
            // Blocks are told before all words of their message are counted; this is the whole count.
            Piece::MessageDelta { usage } => self.whole_count(usage.as_ref(), parent, events),
            Piece::Other => {}
        }
    }

    fn whole_count(&mut self, usage: Option<&Usage>, parent: Option<&str>, events: &mut Vec<EventKind>) {
        let begun = self.begun.clone().filter(|(of, ..)| of.as_deref() == parent);
        if let (Some((_, id, model)), Some(usage)) = (begun, usage.map(Tokens::from)) {
            let new = self.output.count_message(Some(&id), usage);
            self.estimate(Some(&model), new);
            events.push(self.usage_so_far());
        }
    }

    fn usage(&mut self, message: &Message, parent: Option<&str>, events: &mut Vec<EventKind>) {
        let Some(usage) = message.usage().as_ref().map(Tokens::from) else { return };
        let new = self.output.count_message(message.id(), usage);
        self.estimate(message.model(), new);
        if parent.is_none() {
            self.output.context_tokens = Tokens { output: 0, ..usage }.total();
        }
        events.push(self.usage_so_far());
    }

    fn estimate(&mut self, named: Option<&str>, tokens: Tokens) {
        let model = named.or(self.output.model.as_deref()).unwrap_or(&self.model);
        let usd = (self.price)(model, tokens);
        self.output.estimate(usd);
    }

    fn usage_so_far(&self) -> EventKind {
        EventKind::Usage(UsageSoFar {
            iteration: self.iteration,
            tokens: self.output.tokens,
            cost_usd: (self.output.answer.is_some() || self.output.is_estimate()).then_some(self.output.cost_usd),
            estimated: self.output.is_estimate(),
            context_tokens: self.output.context_tokens,
            context_window: self.output.context_window,
        })
    }

    fn tool_call(&mut self, block: &ToolUse<'_>, parent: Option<&str>, events: &mut Vec<EventKind>) {
        self.output.tool_calls += 1;
        let call = digest::tool_call(self.iteration, block, parent);
        if parent.is_none() {
            // Work after a question means that the agent found a way without the answer.
            self.output.question = questions::asked(&call);
        }
        events.extend(self.output.question.clone().filter(|asked| asked.id == call.id).map(EventKind::Question));
        events.extend(digest::todo(&call));
        events.push(EventKind::ToolCall(call));
    }

    fn user(&mut self, event: &User, events: &mut Vec<EventKind>) {
        for block in event.message.blocks() {
            if let Block::ToolResult(result) = block {
                self.tool_result(&result, event.parent_tool_use_id.as_deref(), events);
            }
        }
    }

    fn tool_result(&mut self, block: &ToolResult<'_>, parent: Option<&str>, events: &mut Vec<EventKind>) {
        let result = digest::tool_result(self.iteration, block, parent);
        // An error is no answer: nobody was there to be asked.
        self.output.question.take_if(|asked| asked.id == result.id && !result.is_error);
        events.push(EventKind::ToolResult(result));
    }

    fn result(&mut self, outcome: Outcome, events: &mut Vec<EventKind>) {
        let (is_error, text) = (outcome.is_error(), crate::text::ending(&outcome.text(), WORDS_MAX));
        let answer = AgentResult {
            is_error,
            subtype: outcome.subtype.into_owned(),
            text,
            structured: outcome.structured_output,
            status: outcome.api_error_status.flatten(),
        };
        if answer.is_error {
            self.failed(&answer);
        } else {
            self.output.outage = None;
        }
        // Agents that say something say it again here; for those that do not, these are their words.
        if !answer.is_error && self.output.last_text.is_empty() && !answer.text.trim().is_empty() {
            events.push(digest::text(self.iteration, &answer.text, None));
        }
        self.output.answer = Some(answer);
        self.output.is_in_turn = false;
        self.output.turns += 1;
        let new = outcome.model_usage_since_last_result.as_ref();
        // A session that goes on reports what all its processes have cost; this one's share is what is new.
        let cost = match new {
            Some(new) => Some(self.output.cost_with(new.values().map(|usage| usage.cost_usd).sum())),
            None => outcome.total_cost_usd,
        };
        let known = self.output.count_cost(cost);
        let reported = || outcome.usage.usage().as_ref().map(Tokens::from);
        let used = match new {
            Some(new) => Some(self.output.tokens_with(model_usage(new).unwrap_or_default())),
            None => model_usage(&outcome.model_usage),
        };
        if let Some(usage) = used.or_else(reported) {
            let new = self.output.count_reported(usage);
            if !known {
                self.estimate(None, new);
            }
        }
        events.push(self.usage_so_far());
    }

    /// Is an error of the API one that passes: a usage limit, or an outage?
    fn failed(&mut self, answer: &AgentResult) {
        if self.output.limit.is_none() {
            if let Some(hit) = limit_in(&answer.text) {
                self.output.limit = Some(hit);
            } else if answer.status == Some(429) {
                self.limited(None, &answer.text);
            }
        }
        let by_status = answer.status.filter(|status| is_outage_status(*status));
        let by_status = by_status.map(|_| Outage { words: bounded(&answer.text, 200), answered: true });
        let before = self.output.outage.take();
        // An error with another status is no outage, whatever came before it.
        let kept = before.filter(|_| answer.status.is_none());
        self.output.outage = by_status.or_else(|| outage_in(&answer.text).filter(|_| answer.status.is_none())).or(kept);
    }

    fn rate_limit(&mut self, info: &RateLimitInfo) {
        if info.status == "rejected" {
            let reset = info.resets_at.map(|at| Reset::At(moment(at)));
            let kind = info.rate_limit_type.as_deref().unwrap_or("usage").replace('_', " ");
            self.output.limit = Some(LimitHit { reset, words: format!("the {kind} limit is reached") });
        }
    }

    fn limited(&mut self, hit: Option<LimitHit>, words: &str) {
        if self.output.limit.is_none() {
            self.output.limit = hit.or_else(|| Some(LimitHit { reset: None, words: bounded(words, 200) }));
        }
    }
}

fn model_usage(models: &BTreeMap<String, ModelUsage>) -> Option<Tokens> {
    let tokens = |model: &ModelUsage| Tokens {
        input: model.input_tokens,
        output: model.output_tokens,
        cache_read: model.cache_read_input_tokens,
        cache_write: model.cache_creation_input_tokens,
    };
    models.values().map(tokens).reduce(Tokens::plus)
}

#[cfg(test)]
#[path = "output_reader_tests.rs"]
mod tests;
