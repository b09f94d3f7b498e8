//! OpenTelemetry for operators: metrics, events (log records) and spans, sent to the user's own collector.
//!
//! Records are plain data ([`Event`], [`Count`], [`Span`]); the encoders are pure (`json`, `protobuf`, `prometheus`);
//! one small exporter (`batch_sender`, `exporting`) sends with deadlines. Without `CLAUDE_CODE_ENABLE_TELEMETRY` there is no exporter, no
//! task and no buffer: [`Telemetry::off`] is an empty handle. Deliberately absent: reading the environment, starting
//! `otelHeadersHelper` (the caller runs it), printing (the console exporter's text is given back), and any
//! word to the user about a collector that does not work: exit codes, stdout and stderr never change.

mod trace;
mod sampling;
mod limits;
mod managed_lock;
mod raw_bodies;
mod config;
mod repository;
mod attribute;
mod event;
mod protobuf;
mod grpc;
mod batch_sender;
mod record;
mod buffer;
mod json;
mod prometheus;
mod telemetry;
mod exporting;

pub use attribute::{Attribute, Attributes, Common, Resource, Value, random_id, random_user_id};
pub use batch_sender::{Tls, read_pem};
pub use config::{Config, Exporter, Gates, Protocol, Signal, SignalConfig, Temporality, TlsFiles};
pub use event::{Count, Event, Metric, REDACTED};
pub use exporting::{Exporting, HeadersHelper, HelperError, Printed};
pub use managed_lock::ManagedLock;
pub use raw_bodies::RawBodies;
pub use record::{Span, SpanStatus};
pub use telemetry::{Telemetry, now, sha256, timestamp};
pub use trace::{SpanId, TraceContext, TraceId};
