//! The records between two exports: log records, spans, and sums by metric and attributes.

use crate::attribute::{Attributes, takes_attributes};
use crate::trace::{SpanId, TraceContext, TraceId};

/// A log record. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogRecord {
    pub at: u64,
    pub body: String,
    pub attributes: Attributes,
    pub context: Option<TraceContext>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpanStatus {
    #[default]
    Unset,
    Error(String),
}

/// A span that has ended. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    /// Whether the parent belongs to another process.
    pub is_parent_remote: bool,
    pub name: String,
    pub start: u64,
    pub end: u64,
    /// Beside the common ones.
    pub attributes: Attributes,
    /// Name, time and attributes.
    pub events: Vec<(String, u64, Attributes)>,
    pub status: SpanStatus,
}

impl Span {
    /// One that begins and ends at zero, without attributes.
    pub fn new(name: &str, own: TraceContext, parent: Option<SpanId>) -> Self {
        Self {
            trace: own.trace,
            id: own.span,
            parent,
            is_parent_remote: false,
            name: name.to_owned(),
            start: 0,
            end: 0,
            attributes: Vec::new(),
            events: Vec::new(),
            status: SpanStatus::Unset,
        }
    }
}

takes_attributes!(Span);

/// One series of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    pub attributes: Attributes,
    pub start: u64,
    pub sum: f64,
}

/// All series of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub name: String,
    pub unit: &'static str,
    pub description: &'static str,
    pub points: Vec<Point>,
}
