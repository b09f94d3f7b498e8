//! A run as spans: the run, its iterations, their checks. One trace shows a night.
//!
//! A span's id follows from the trace and from what the span is about, so that an agent can be told its parent before
//! the parent has ended.

use crate::Sink;
use cycle::{CheckFinished, EventKind, IterationOutcome, LoopEvent, Receipt, RunVerdict, VerdictKind};
use telemetry::{Count, Metric, Span, SpanId, SpanStatus, Telemetry, TraceContext, TraceId, Value};

const NANOS_PER_MS: u64 = 1_000_000;

/// The trace of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTrace {
    trace: TraceId,
    /// The span of the program that started the loop.
    incoming: Option<SpanId>,
    run: SpanId,
    is_sampled: bool,
}

impl RunTrace {
    /// Inside of the trace that came in, or in a new one.
    pub fn new(telemetry: &Telemetry) -> Self {
        let incoming = telemetry.context();
        let trace = incoming.map_or_else(TraceId::random, |context| context.trace);
        let is_sampled = telemetry.samples(trace);
        Self { trace, incoming: incoming.map(|context| context.span), run: SpanId::random(), is_sampled }
    }

    /// The context of an iteration's agent.
    pub(crate) fn iteration(&self, iteration: u32, attempt: u32) -> TraceContext {
        let words = ["iteration", &iteration.to_string(), &attempt.to_string()].map(str::to_owned);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let id = SpanId::of(TraceId(self.trace.0 ^ u128::from(self.run.0)), &words);
        TraceContext { trace: self.trace, span: id, is_sampled: self.is_sampled }
    }
}

/// Turns a run's events into spans and counts.
pub struct Spans {
    telemetry: Telemetry,
    trace: RunTrace,
    run: (String, u64),
    /// The iteration that runs: its number, attempt, model and beginning.
    iteration: Option<(u32, u32, String, u64)>,
    check: Option<(u64, u32)>,
    checks: u32,
}

impl Spans {
    pub fn new(telemetry: Telemetry, trace: RunTrace) -> Self {
        Self { telemetry, trace, run: (String::new(), 0), iteration: None, check: None, checks: 0 }
    }

    fn span(&self, name: &str, id: SpanId, parent: Option<SpanId>, times: (u64, u64)) -> Span {
        let kind = name.strip_prefix("ralph.").unwrap_or(name);
        let run = self.run.0.as_str();
        Span {
            trace: self.trace.trace,
            id,
            parent,
            is_parent_remote: false,
            name: name.to_owned(),
            start: times.0.saturating_mul(NANOS_PER_MS),
            end: times.1.max(times.0).saturating_mul(NANOS_PER_MS),
            attributes: vec![("span.type".to_owned(), kind.into()), ("ralph.run".to_owned(), run.into())],
            events: Vec::new(),
            status: SpanStatus::Unset,
        }
    }

    fn iteration_ended(&mut self, receipt: &Receipt, at: u64) {
        let Some((iteration, attempt, model, since)) = self.iteration.take() else { return };
        let outcome = outcome(&receipt.outcome);
        let id = self.trace.iteration(iteration, attempt).span;
        let mut span = self.span("ralph.iteration", id, Some(self.trace.run), (since, at));
        let more: [(&str, Value); 8] = [
            ("ralph.iteration", u64::from(iteration).into()),
            ("ralph.attempt", u64::from(attempt).into()),
            ("model", model.as_str().into()),
            ("outcome", outcome.into()),
            ("cost_usd", receipt.cost_usd.into()),
            ("tokens", receipt.tokens.total().into()),
            ("tool_calls", receipt.tool_calls.into()),
            ("duration_ms", at.saturating_sub(since).into()),
        ];
        span.attributes.extend(more.map(|(name, value)| (name.to_owned(), value)));
        if matches!(receipt.outcome, IterationOutcome::Failed { .. }) {
            span.status = SpanStatus::Error(outcome.to_owned());
        }
        self.telemetry.span(span);
        self.telemetry.count(Count::new(Metric::LoopIterations, 1.0).with("outcome", outcome));
        self.telemetry.count(Count::new(Metric::LoopCost, receipt.cost_usd).with("model", model));
    }

    fn checked(&mut self, check: &CheckFinished, at: u64) {
        let Some((since, number)) = self.check.take() else { return };
        let parent = self.iteration.as_ref().map(|running| self.trace.iteration(running.0, running.1).span);
        let id = SpanId::random();
        let mut span = self.span("ralph.check", id, parent.or(Some(self.trace.run)), (since, at));
        let more: [(&str, Value); 4] = [
            ("ralph.iteration", u64::from(check.iteration).into()),
            ("ralph.check", u64::from(number).into()),
            ("success", check.passed.into()),
            ("duration_ms", check.duration_ms.into()),
        ];
        span.attributes.extend(more.map(|(name, value)| (name.to_owned(), value)));
        // A command may hold anything; it leaves only where details are released.
        if self.telemetry.gates().tool_details() {
            span.attributes.push(("full_command".to_owned(), check.command.as_str().into()));
        }
        if !check.passed {
            span.status = SpanStatus::Error("the check failed".to_owned());
        }
        self.telemetry.span(span);
    }

    fn ended(&mut self, verdict: &RunVerdict, at: u64) {
        let mut span = self.span("ralph.run", self.trace.run, self.trace.incoming, (self.run.1, at));
        span.is_parent_remote = self.trace.incoming.is_some();
        let word = format!("{:?}", verdict.verdict).to_lowercase();
        let more: [(&str, Value); 4] = [
            ("verdict", word.as_str().into()),
            ("iterations", u64::from(verdict.iterations).into()),
            ("cost_usd", verdict.cost_usd.into()),
            ("duration_ms", verdict.elapsed_ms.into()),
        ];
        span.attributes.extend(more.map(|(name, value)| (name.to_owned(), value)));
        if matches!(verdict.verdict, VerdictKind::Failed | VerdictKind::Stuck) {
            span.status = SpanStatus::Error(word);
        }
        self.telemetry.span(span);
    }
}

impl Sink for Spans {
    fn event(&mut self, event: &LoopEvent) {
        match &event.kind {
            EventKind::RunStarted(run) => self.run = (run.run.clone(), event.at),
            EventKind::IterationStarted(start) => {
                self.iteration = Some((start.iteration, start.attempt, start.model.clone(), event.at));
                self.checks = 0;
            }
            EventKind::CheckStarted { .. } => {
                self.checks += 1;
                self.check = Some((event.at, self.checks));
            }
            EventKind::CheckFinished(check) => self.checked(check, event.at),
            EventKind::IterationEnded { receipt, .. } => self.iteration_ended(receipt, event.at),
            EventKind::Verdict(verdict) => self.ended(verdict, event.at),
            _ => {}
        }
    }
}

fn outcome(outcome: &IterationOutcome) -> &'static str {
    match outcome {
        IterationOutcome::Progress => "progress",
        IterationOutcome::NoProgress => "no_progress",
        IterationOutcome::Done => "done",
        IterationOutcome::NotDone => "not_done",
        IterationOutcome::Blocked => "blocked",
        IterationOutcome::Failed { .. } => "failed",
        IterationOutcome::Deferred => "deferred",
        IterationOutcome::Interrupted => "interrupted",
        IterationOutcome::Cut => "cut",
    }
}
