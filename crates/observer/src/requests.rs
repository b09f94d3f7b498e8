//! Questions to the model: their events, their spans, and what they cost.

use crate::attribution::Attribution;
use crate::bodies::BodyOwner;
use crate::names;
use crate::record::{Recorder, agent_id, millis, new_span};
use crate::state::{OpenRequest, OpenResponse, SentBody, span_of};
use model::{Failure, Reply};
use telemetry::{Count, Event, Metric, Span, SpanStatus, TraceContext};
use turn::{Role, Ticket};
use wire::Usage;

const SPEED: &str = "normal";
const MICROS_PER_USD: f64 = 1_000_000.0;

/// What is asked.
pub struct Asked<'a> {
    pub model: &'a str,
    pub effort: Option<&'a str>,
    /// What is sent, for those who want to see it.
    pub body: &'a dyn Fn() -> Option<String>,
}

/// A question beside the conversation that is not answered yet.
pub struct Aside<'a> {
    model: &'a str,
    /// Who asks, as events tell it.
    source: &'static str,
    /// When it began.
    start: u64,
    body: Option<SentBody>,
}

impl<'a> Aside<'a> {
    /// `is_compaction`: it is the summary that a compaction wants.
    pub(crate) fn new(model: &'a str, is_compaction: bool) -> Self {
        let source = if is_compaction { "compact" } else { "auxiliary" };
        Self { model, source, start: telemetry::now(), body: None }
    }
}

/// Who a request was made for, and as what.
struct Purpose<'a> {
    role: &'a Role,
    model: &'a str,
    effort: Option<&'a str>,
    /// For metrics, for events.
    sources: (&'static str, String),
    /// The agent, the skill and the tool that it was made for.
    attribution: Vec<(&'static str, String)>,
}

impl<'a> Purpose<'a> {
    /// Of a request in a conversation.
    fn of(role: &'a Role, request: &'a OpenRequest, shows_details: bool) -> Self {
        let sources = (names::short_source(role), names::source(role));
        let attribution = request.attribution.told(role, shows_details);
        Self { role, model: &request.model, effort: request.effort.as_deref(), sources, attribution }
    }
}

impl Purpose<'_> {
    fn event(&self, name: &'static str) -> Event {
        Event::new(name).with("model", self.model)
    }

    /// What all events of a request end with.
    fn ended(&self, event: Event) -> Event {
        let event = event.with("speed", SPEED).with("query_source", self.sources.1.as_str());
        let event = event.with_some("effort", self.effort);
        let event = self.attribution.iter().fold(event, |event, (name, value)| event.with(name, value.as_str()));
        event.with_some("agent_id", agent_id(self.role))
    }
}

impl Recorder {
    /// The span that a request will have.
    fn span_of_request(&self, role: &Role, ticket: Ticket) -> Option<TraceContext> {
        let parent = self.parent(role)?;
        Some(span_of(parent, parent.span, &["request", &ticket.0.to_string()]))
    }

    pub(crate) fn asks(&self, role: &Role, ticket: Ticket, asked: &Asked) -> Option<TraceContext> {
        let body = self.body_sent(&BodyOwner::asking(role, asked.model, &names::source(role)), asked.body);
        let request = OpenRequest {
            model: asked.model.to_owned(),
            effort: asked.effort.map(str::to_owned),
            attempts: vec![telemetry::now()],
            body,
            attribution: self.attribution(role),
            details: self.details_of(role, asked.body),
        };
        self.with_talk(role, |talk| drop(talk.requests.insert(ticket, request)));
        self.span_of_request(role, ticket)
    }

    /// What the next request is made for. A tool's result is new once.
    fn attribution(&self, role: &Role) -> Attribution {
        let mcp_tool = self.with_talk(role, |talk| talk.mcp_result.take());
        Attribution { skill: self.state().skill.clone(), mcp_tool }
    }

    pub(crate) fn retried(&self, role: &Role, ticket: Ticket) {
        self.with_talk(role, |talk| {
            if let Some(request) = talk.requests.get_mut(&ticket) {
                request.attempts.push(telemetry::now());
            }
        });
    }

    /// `cost` is what was booked; `None` where this message was booked before.
    pub(crate) fn answered(&self, role: &Role, ticket: Ticket, reply: &Reply, cost: Option<f64>) {
        let Some(request) = self.with_talk(role, |talk| talk.requests.remove(&ticket)) else { return };
        let purpose = Purpose::of(role, &request, self.details());
        self.count_cost(&purpose, &reply.usage, cost);
        self.record(role, api_request(&purpose, reply, cost));
        if reply.stop_reason.as_deref() == Some("refusal") {
            self.record(role, refusal(&purpose, &request, reply, self.details()));
        }
        if let Some(own) = self.span_of_request(role, ticket) {
            let context = if role.is_main() { "interaction" } else { "tool" };
            let span = self.request_span(&purpose, own, context, &request);
            let span = succeeded(span, &purpose, reply);
            let is_detailed = request.details.is_some();
            self.telemetry.span(if is_detailed { self.detailed_answer(span, reply) } else { span });
        }
        let body = request.body.as_ref().map(|sent| self.body_received(sent, reply));
        self.with_talk(role, |talk| {
            talk.request_id.clone_from(&reply.request_id);
            talk.model.clone_from(&request.model);
            let text: String = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            talk.response = (!text.is_empty() || body.is_some()).then(|| OpenResponse {
                text,
                model: request.model.clone(),
                request_id: reply.request_id.clone(),
                is_finished: false,
                body,
            });
        });
    }

    pub(crate) fn failed(&self, role: &Role, ticket: Ticket, failure: &Failure) {
        let Some(request) = self.with_talk(role, |talk| talk.requests.remove(&ticket)) else { return };
        let purpose = Purpose::of(role, &request, self.details());
        let attempts = request.attempts.len() as u64;
        let status = failure.status.map(u64::from);
        let start = request.attempts.first().copied().unwrap_or_default();
        let error = self.content(&failure.message);
        let event = purpose
            .event("api_error")
            .with("error", error.as_str())
            .with_some("status_code", status)
            .with("duration_ms", failure.api_ms)
            .with("attempt", attempts);
        self.record(role, purpose.ended(event).with_some("request_id", failure.request_id.as_deref()));
        if attempts > 1 {
            let event = purpose
                .event("api_retries_exhausted")
                .with("error", error.as_str())
                .with_some("status_code", status)
                .with("total_attempts", attempts)
                .with("total_retry_duration_ms", millis(start, telemetry::now()));
            self.record(role, purpose.ended(event));
        }
        let Some(own) = self.span_of_request(role, ticket) else { return };
        let context = if role.is_main() { "interaction" } else { "tool" };
        let is_servers = failure.status.is_none_or(|status| status >= 500);
        let mut span = self
            .request_span(&purpose, own, context, &request)
            .with("success", false)
            .with("attempt", attempts)
            .with_some("status_code", status)
            .with("error", error.as_str())
            .with("error_class", if is_servers { "server_error" } else { "client_error" })
            .with_some("request_id", failure.request_id.as_deref());
        span.status = SpanStatus::Error(error);
        self.telemetry.span(span);
    }

    pub(crate) fn asks_aside(&self, aside: &mut Aside, body: &dyn Fn() -> Option<String>) {
        aside.body = self.body_sent(&BodyOwner::asking(&Role::Main, aside.model, aside.source), body);
    }

    pub(crate) fn answered_aside(&self, aside: &Aside, reply: &Reply, cost: Option<f64>) {
        let role = &Role::Main;
        let sources = ("auxiliary", aside.source.to_owned());
        let purpose = Purpose { role, model: aside.model, effort: None, sources, attribution: Vec::new() };
        self.count_cost(&purpose, &reply.usage, cost);
        self.record(role, api_request(&purpose, reply, cost));
        if let Some(body) = aside.body.as_ref().map(|sent| self.body_received(sent, reply)) {
            let request_id = reply.request_id.as_deref();
            let owner = BodyOwner { request_id, ..BodyOwner::asking(role, aside.model, aside.source) };
            self.tell_received(&owner, &body);
        }
        let Some(parent) = self.parent(role) else { return };
        let (model, attempts) = (aside.model.to_owned(), vec![aside.start]);
        let attribution = Attribution::default();
        let request = OpenRequest { model, effort: None, attempts, body: None, attribution, details: None };
        let own = span_of(parent, parent.span, &["aside", &reply.id, &aside.start.to_string()]);
        let span = self.request_span(&purpose, own, "interaction", &request);
        self.telemetry.span(succeeded(span, &purpose, reply));
    }

    fn count_cost(&self, purpose: &Purpose, usage: &Usage, cost: Option<f64>) {
        let Some(cost) = cost else { return };
        let count = |metric, value: f64| {
            let mut count =
                Count::new(metric, value).with("model", purpose.model).with("query_source", purpose.sources.0);
            if let Some(effort) = purpose.effort {
                count = count.with("effort", effort);
            }
            purpose.attribution.iter().fold(count, |count, (name, value)| count.with(name, value.as_str()))
        };
        self.telemetry.count(count(Metric::Cost, cost));
        let tokens = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cacheRead", usage.cache_read_input_tokens),
            ("cacheCreation", usage.cache_creation_input_tokens),
        ];
        for (kind, tokens) in tokens {
            self.telemetry.count(count(Metric::Tokens, tokens as f64).with("type", kind));
        }
    }

    /// A request's span as far as it is the same for all ends.
    fn request_span(&self, purpose: &Purpose, own: TraceContext, context: &str, request: &OpenRequest) -> Span {
        let start = request.attempts.first().copied().unwrap_or_default();
        let mut span = new_span("llm_request", own, self.parent(purpose.role), start)
            .with("model", purpose.model)
            .with("gen_ai.system", "anthropic")
            .with("gen_ai.request.model", purpose.model)
            .with("llm_request.context", context)
            .with("speed", SPEED)
            .with("gen_ai.conversation.id", self.conversation_id(purpose.role))
            .with("query_source_safe", purpose.sources.1.replace(':', "."))
            .with_some("agent_id", agent_id(purpose.role));
        let lasted = millis(span.start, span.end);
        span = span.with("duration_ms", lasted);
        for (at, time) in request.attempts.iter().enumerate() {
            let number = ("attempt".to_owned(), (at as u64 + 1).into());
            span.events.push(("gen_ai.request.attempt".to_owned(), *time, vec![number]));
        }
        match &request.details {
            Some(details) => self.detailed_request(span, purpose.role, &purpose.sources.1, details),
            None => span,
        }
    }
}

fn api_request(purpose: &Purpose, reply: &Reply, cost: Option<f64>) -> Event {
    let (usage, cost) = (&reply.usage, cost.unwrap_or_default());
    let event = purpose
        .event("api_request")
        .with("input_tokens", usage.input_tokens)
        .with("output_tokens", usage.output_tokens)
        .with("cache_read_tokens", usage.cache_read_input_tokens)
        .with("cache_creation_tokens", usage.cache_creation_input_tokens)
        .with("cache_creation_5m_tokens", usage.cache_creation.ephemeral_5m_input_tokens)
        .with("cache_creation_1h_tokens", usage.cache_creation.ephemeral_1h_input_tokens)
        .with("cost_usd", cost)
        .with("cost_usd_micros", (cost * MICROS_PER_USD).round() as u64)
        .with("duration_ms", reply.api_ms)
        .with("ttft_ms", reply.ttft_ms.unwrap_or(reply.api_ms))
        .with_some("request_id", reply.request_id.as_deref());
    purpose.ended(event)
}

fn refusal(purpose: &Purpose, request: &OpenRequest, reply: &Reply, shows_details: bool) -> Event {
    let details = reply.stop_details.as_ref();
    let has = |name: &str| details.is_some_and(|details| !details[name].is_null());
    let event = purpose
        .event("api_refusal")
        .with_some("request_id", reply.request_id.as_deref())
        .with("attempt", request.attempts.len() as u64)
        .with("server_fallback_hop", false)
        .with("has_category", has("category"))
        .with("has_explanation", has("explanation"));
    let category = details.and_then(|details| details["category"].as_str()).filter(|_| shows_details);
    purpose.ended(event).with_some("category", category)
}

fn succeeded(span: Span, purpose: &Purpose, reply: &Reply) -> Span {
    let attempts = span.events.len() as u64;
    let reason = reply.stop_reason.clone().unwrap_or_default();
    span.with("input_tokens", reply.usage.input_tokens)
        .with("output_tokens", reply.usage.output_tokens)
        .with("cache_read_tokens", reply.usage.cache_read_input_tokens)
        .with("cache_creation_tokens", reply.usage.cache_creation_input_tokens)
        .with("success", true)
        .with("attempt", attempts)
        .with_some("request_id", reply.request_id.as_deref())
        .with_some("gen_ai.response.id", reply.request_id.as_deref())
        .with_some("ttft_ms", reply.ttft_ms)
        .with_some("first_content_ms", reply.ttft_stream_ms.or(reply.ttft_ms))
        .with_some("effort", purpose.effort)
        .with("stop_reason", reason.as_str())
        .with("gen_ai.response.finish_reasons", telemetry::Value::List(vec![reason]))
}
