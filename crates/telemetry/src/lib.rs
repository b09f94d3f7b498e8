//! OpenTelemetry for operators: metrics, events (log records) and spans, sent to the user's own collector.
//!
//! Records are plain data ([`Event`], [`Count`], [`Span`]); the encoders are pure (`json`, `protobuf`, `prometheus`);
//! one small exporter (`ship`) sends with deadlines. Without `CLAUDE_CODE_ENABLE_TELEMETRY` there is no exporter, no
//! task and no buffer: [`Telemetry::off`] is an empty handle. Deliberately absent: reading the environment, starting
//! `otelHeadersHelper` (the caller gives its headers), printing (the console exporter's text is given back), and any
//! word to the user about a collector that does not work: exit codes, stdout and stderr never change.

mod config;
mod attribute;
mod event;
mod protobuf;
mod batch_sender;
mod trace;
mod record;
mod buffer;
mod json;
mod prometheus;
mod telemetry;

pub use attribute::{Attribute, Attributes, Common, Resource, Value};
pub use config::{Config, Exporter, Gates, Protocol, Signal, SignalConfig, Temporality};
pub use event::{Count, Event, Metric, REDACTED};
pub use prometheus::serve as serve_prometheus;
pub use record::{Span, SpanStatus};
pub use telemetry::Telemetry;
pub use trace::{SpanId, TraceContext, TraceId};
