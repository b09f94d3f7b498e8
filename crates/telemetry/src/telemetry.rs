//! The handle that the program reports to.

use crate::attribute::{Attributes, Common, Resource, Value as Attribute};
use crate::batch_sender::{BatchSender, Tls};
use crate::buffer::Buffer;
use crate::config::{Config, Exporter, Gates, Protocol, Signal, SignalConfig};
use crate::event::{Count, Event};
use crate::json::{self, Source};
use crate::prometheus;
use crate::raw_bodies::RawBodies;
use crate::record::{LogRecord, Span};
use crate::trace::{TraceContext, TraceId};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A shorter interval would do nothing but export.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// Reports go here. An empty handle does nothing.
#[derive(Clone, Default)]
pub struct Telemetry(Option<Arc<Inner>>);

struct Inner {
    config: Config,
    resource: Attributes,
    version: String,
    shippers: Vec<(Signal, BatchSender)>,
    headers: watch::Sender<HelperHeaders>,
    state: Mutex<TelemetryState>,
}

/// What `otelHeadersHelper` said; wins over the configured headers.
#[derive(Clone, PartialEq, Eq)]
enum HelperHeaders {
    /// It has not answered yet: nothing is exported before.
    Awaited,
    Known(Vec<(String, String)>),
    /// Without its headers nothing is exported.
    Failed,
}

#[derive(Default)]
struct TelemetryState {
    common: Attributes,
    buffer: Buffer,
    /// Sums since the start, for a scraper.
    scraped: Buffer,
    /// Of the next event.
    sequence: u64,
    prompt_id: Option<String>,
    /// The span that events belong to, or the one that came in from outside.
    context: Option<TraceContext>,
    /// For the console exporter, to be printed by the caller.
    console: String,
}

impl Telemetry {
    /// Nothing is exported, and nothing is kept.
    pub fn off() -> Self {
        Self(None)
    }

    /// `tls` is asked for signals whose collector is behind TLS; without an answer that signal is not sent.
    pub fn new(
        config: Config,
        resource: &Resource,
        common: &Common,
        tls: &dyn Fn(&SignalConfig) -> Option<Tls>,
    ) -> Self {
        let shippers = config.signals.iter().filter(|signal| signal.exporters.contains(&Exporter::Otlp));
        let shippers = shippers.map(|signal| (signal.signal, BatchSender::new(signal.clone(), tls))).collect();
        let common = common.attributes(&config);
        Self(Some(Arc::new(Inner {
            resource: resource.attributes(&config),
            version: resource.version.clone(),
            shippers,
            state: Mutex::new(TelemetryState { common, context: config.incoming, ..TelemetryState::default() }),
            config,
            headers: watch::Sender::new(HelperHeaders::Known(Vec::new())),
        })))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether spans are exported.
    pub fn traces(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.config.signal(Signal::Traces).is_some())
    }

    /// What content may be shown; nothing where telemetry is off.
    pub fn gates(&self) -> Gates {
        self.0.as_ref().map(|inner| inner.config.gates).unwrap_or_default()
    }

    /// The conversation goes on under another id.
    pub fn set_session(&self, id: &str) {
        let Some(inner) = &self.0 else { return };
        for (_, value) in inner.state().common.iter_mut().filter(|(name, _)| name == "session.id") {
            *value = Attribute::Text(id.to_owned());
        }
    }

    /// Whether hooks have spans, and the others more attributes.
    pub fn is_detailed(&self) -> bool {
        self.traces() && self.0.as_ref().is_some_and(|inner| inner.config.is_detailed)
    }

    /// Whether the spans of this trace are exported.
    pub fn samples(&self, trace: TraceId) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.config.sampler.takes(trace, inner.config.incoming))
    }

    /// Whether bodies of requests and answers are released, and to where. A body in the record needs records.
    pub fn raw_bodies(&self) -> &RawBodies {
        match &self.0 {
            Some(inner) if inner.config.raw_bodies != RawBodies::Inline => &inner.config.raw_bodies,
            Some(inner) if inner.config.signal(Signal::Logs).is_some() => &inner.config.raw_bodies,
            _ => &RawBodies::Off,
        }
    }

    /// As many UTF-16 units of content as a record may have.
    pub fn content_max(&self) -> usize {
        self.0.as_ref().map_or(0, |inner| inner.config.content_max)
    }

    /// How long what the headers helper says is used.
    pub fn headers_age(&self) -> Duration {
        self.0.as_ref().map_or(Duration::MAX, |inner| inner.config.headers_age)
    }

    /// Everything that follows belongs to this prompt.
    pub fn set_prompt(&self, id: &str) {
        if let Some(inner) = &self.0 {
            inner.state().prompt_id = Some(id.to_owned());
        }
    }

    /// Events that follow belong to this span.
    pub fn set_context(&self, context: Option<TraceContext>) {
        if let Some(inner) = &self.0 {
            inner.state().context = context;
        }
    }

    /// The span that is open, or the one that came in from outside.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().and_then(|inner| inner.state().context)
    }

    /// The user's helper command is being asked. Until it has answered nothing is exported.
    pub fn await_headers(&self) {
        if let Some(inner) = &self.0 {
            inner.headers.send_replace(HelperHeaders::Awaited);
        }
    }

    /// What the user's helper command says; wins over the configured headers. `None` where it failed: then nothing is
    /// exported.
    pub fn set_headers(&self, headers: Option<Vec<(String, String)>>) {
        if let Some(inner) = &self.0 {
            inner.headers.send_replace(headers.map_or(HelperHeaders::Failed, HelperHeaders::Known));
        }
    }

    pub fn record(&self, event: Event) {
        self.record_in(event, None);
    }

    /// An event of this span, or of the one that is open where none is named.
    pub fn record_in(&self, event: Event, span: Option<TraceContext>) {
        let Some(inner) = self.0.as_ref().filter(|inner| inner.config.signal(Signal::Logs).is_some()) else { return };
        let now = jiff::Timestamp::now();
        let mut state = inner.state();
        let mut attributes = state.common.clone();
        attributes.push(("event.name".into(), event.name.into()));
        attributes.push(("event.timestamp".into(), format!("{now:.3}").into()));
        attributes.push(("event.sequence".into(), state.sequence.into()));
        attributes.extend(state.prompt_id.clone().map(|id| ("prompt.id".to_owned(), id.into())));
        attributes.extend(event.attributes);
        state.sequence += 1;
        let context = span.or(state.context);
        state.buffer.log(LogRecord {
            at: nanos(now),
            body: format!("claude_code.{}", event.name),
            attributes,
            context,
        });
    }

    pub fn count(&self, count: Count) {
        let Some(inner) = self.0.as_ref().filter(|inner| inner.config.signal(Signal::Metrics).is_some()) else {
            return;
        };
        let (is_scraped, now) = (inner.config.exports_to(Exporter::Prometheus), now());
        let TelemetryState { buffer, scraped, common, .. } = &mut *inner.state();
        if is_scraped {
            scraped.add(count.clone(), common, now);
        }
        buffer.add(count, common, now);
    }

    /// A span that has ended. The common attributes are put before its own.
    pub fn span(&self, mut span: Span) {
        let Some(inner) = self.0.as_ref().filter(|inner| inner.config.signal(Signal::Traces).is_some()) else { return };
        if !inner.config.sampler.takes(span.trace, inner.config.incoming) {
            return;
        }
        let mut state = inner.state();
        let mut attributes = state.common.clone();
        attributes.append(&mut span.attributes);
        span.attributes = attributes;
        state.buffer.span(span);
    }

    /// Exports a signal again and again, each after its interval. To be run beside the program's work.
    pub async fn run(&self) {
        let Some(inner) = &self.0 else { return };
        let signals = &inner.config.signals;
        tokio::join!(inner.repeat(signals.first()), inner.repeat(signals.get(1)), inner.repeat(signals.get(2)));
    }

    /// The last export: all signals at the same time, within the budget, whatever the collector does. Returns what the
    /// console exporter would print.
    pub async fn flush(&self) -> String {
        self.flush_within(self.budget()).await
    }

    /// How long the last export may take.
    pub(crate) fn budget(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |inner| inner.config.shutdown)
    }

    /// Whether a signal goes out with the headers that the helper says.
    pub(crate) fn uses_helper(&self) -> bool {
        let is_http = |signal: &SignalConfig| signal.protocol != Protocol::Grpc;
        self.0.as_ref().is_some_and(|inner| inner.config.signals.iter().any(is_http))
    }

    pub(crate) fn awaits_headers(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| *inner.headers.borrow() == HelperHeaders::Awaited)
    }

    pub(crate) async fn flush_within(&self, budget: Duration) -> String {
        let Some(inner) = &self.0 else { return String::new() };
        let all = async {
            tokio::join!(inner.export(Signal::Traces), inner.export(Signal::Logs), inner.export(Signal::Metrics));
        };
        // What has not arrived by then is lost.
        let _ = tokio::time::timeout(budget, all).await;
        std::mem::take(&mut inner.state().console)
    }

    /// Where Prometheus is to find us, where it is to.
    pub fn prometheus_address(&self) -> Option<(String, u16)> {
        let config = &self.0.as_ref()?.config;
        config.exports_to(Exporter::Prometheus).then(|| config.prometheus.clone())
    }

    /// The metrics as Prometheus reads them.
    pub fn prometheus_text(&self) -> String {
        let Some(inner) = &self.0 else { return String::new() };
        let state = inner.state();
        prometheus::text(&inner.resource, &state.scraped.series, &inner.version)
    }
}

impl Inner {
    /// A panic while the lock was held leaves plain data behind.
    fn state(&self) -> MutexGuard<'_, TelemetryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn repeat(&self, config: Option<&SignalConfig>) {
        let Some(config) = config else { return };
        loop {
            tokio::time::sleep(config.interval.max(INTERVAL_MIN)).await;
            self.export(config.signal).await;
        }
    }

    async fn export(&self, signal: Signal) {
        let Some(config) = self.config.signal(signal) else { return };
        let Some(headers) = self.headers_for(config).await else { return };
        let Some(tree) = self.take(signal) else { return };
        if config.exporters.contains(&Exporter::Console) {
            let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
            self.state().console.push_str(&format!("{text}\n"));
        }
        if let Some((_, shipper)) = self.shippers.iter().find(|(known, _)| *known == signal) {
            shipper.send(&tree, &headers).await;
        }
    }

    /// What the helper says, once it has said it; `None` where it failed. Over gRPC only the configured headers are sent.
    async fn headers_for(&self, config: &SignalConfig) -> Option<Vec<(String, String)>> {
        if config.protocol == Protocol::Grpc {
            return Some(Vec::new());
        }
        let mut headers = self.headers.subscribe();
        match headers.wait_for(|headers| *headers != HelperHeaders::Awaited).await.ok()?.clone() {
            HelperHeaders::Known(headers) => Some(headers),
            HelperHeaders::Awaited | HelperHeaders::Failed => None,
        }
    }

    /// What waits of this signal, as a tree; `None` where nothing does.
    fn take(&self, signal: Signal) -> Option<Value> {
        let trace_state = self.config.trace_state.as_deref();
        let limits = self.config.limits;
        let source = Source { resource: &self.resource, version: &self.version, trace_state, limits };
        let mut state = self.state();
        match signal {
            Signal::Logs => {
                let records = state.buffer.take_logs();
                (!records.is_empty()).then(|| json::logs(&source, &records))
            }
            Signal::Traces => {
                let spans = state.buffer.take_spans();
                (!spans.is_empty()).then(|| json::traces(&source, &spans))
            }
            Signal::Metrics => {
                let temporality = self.config.temporality;
                let series = state.buffer.take_series(temporality);
                let now = now();
                (!series.is_empty()).then(|| json::metrics(&source, &series, temporality, now))
            }
        }
    }
}

/// A digest in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Now, as events tell it.
pub fn timestamp() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// Nanoseconds since 1970.
pub fn now() -> u64 {
    nanos(jiff::Timestamp::now())
}

fn nanos(time: jiff::Timestamp) -> u64 {
    u64::try_from(time.as_nanosecond()).unwrap_or(0)
}

#[cfg(test)]
#[path = "telemetry_tests.rs"]
mod tests;
