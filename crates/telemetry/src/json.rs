//! OTLP as JSON: the tree that is sent as it is, or written as protobuf.

use crate::attribute::{Attributes, Value};
use crate::config::Temporality;
use crate::limits::{AttributeLimits, Limits};
use crate::record::{LogRecord, Series, Span, SpanStatus};
use serde_json::{Value as Json, json};

/// The program behind a batch: the resource's attributes, and the version of the scopes.
pub(crate) struct Source<'a> {
    pub resource: &'a Attributes,
    pub version: &'a str,
    /// What vendors have to say about the trace that came in, passed on as it is.
    pub trace_state: Option<&'a str>,
    pub limits: Limits,
}

const METRICS_SCOPE: &str = "com.anthropic.claude_code";
const LOGS_SCOPE: &str = "com.anthropic.claude_code.events";
const TRACES_SCOPE: &str = "com.anthropic.claude_code.tracing";
const TRACES_SCOPE_VERSION: &str = "1.0.0";
/// Sampled, and known whether the parent is remote; with the second bit it is.
const SPAN_FLAGS: u32 = 0x101;
const SPAN_FLAGS_REMOTE: u32 = 0x301;

pub(crate) fn metrics(source: &Source, series: &[Series], temporality: Temporality, now: u64) -> Json {
    let temporality = match temporality {
        Temporality::Delta => 1,
        Temporality::Cumulative => 2,
    };
    let metric = |series: &Series| {
        let points: Vec<Json> = series
            .points
            .iter()
            .map(|point| {
                json!({
                    "attributes": attributes(&point.attributes, AttributeLimits::NONE),
                    "startTimeUnixNano": point.start.to_string(),
                    "timeUnixNano": now.to_string(),
                    "asDouble": number(point.sum),
                })
            })
            .collect();
        json!({
            "name": series.name, "description": series.description, "unit": series.unit,
            "sum": {"aggregationTemporality": temporality, "isMonotonic": true, "dataPoints": points},
        })
    };
    let metrics: Vec<Json> = series.iter().map(metric).collect();
    let scope = json!({"name": METRICS_SCOPE, "version": source.version});
    let scopes = json!([{"scope": scope, "metrics": metrics}]);
    json!({"resourceMetrics": [{"resource": resource(source), "scopeMetrics": scopes}]})
}

pub(crate) fn logs(source: &Source, records: &[LogRecord]) -> Json {
    let limits = source.limits.log;
    let record = |record: &LogRecord| {
        let mut value = json!({
            "timeUnixNano": record.at.to_string(),
            "observedTimeUnixNano": record.at.to_string(),
            "body": {"stringValue": record.body},
            "attributes": attributes(&record.attributes, limits),
            "droppedAttributesCount": limits.dropped(record.attributes.len()),
        });
        if let Some(context) = record.context {
            value["flags"] = json!(u8::from(context.is_sampled));
            value["traceId"] = json!(context.trace.to_string());
            value["spanId"] = json!(context.span.to_string());
        }
        value
    };
    let records: Vec<Json> = records.iter().map(record).collect();
    let scope = json!({"name": LOGS_SCOPE, "version": source.version});
    let scopes = json!([{"scope": scope, "logRecords": records}]);
    json!({"resourceLogs": [{"resource": resource(source), "scopeLogs": scopes}]})
}

pub(crate) fn traces(source: &Source, spans: &[Span]) -> Json {
    let spans: Vec<Json> = spans.iter().map(|one| span(one, source)).collect();
    let scope = json!({"name": TRACES_SCOPE, "version": TRACES_SCOPE_VERSION});
    let scopes = json!([{"scope": scope, "spans": spans}]);
    json!({"resourceSpans": [{"resource": resource(source), "scopeSpans": scopes}]})
}

fn span(span: &Span, source: &Source) -> Json {
    let limits = source.limits;
    let event = |(name, at, more): &(String, u64, Attributes)| {
        json!({
            "attributes": attributes(more, limits.span_event), "name": name, "timeUnixNano": at.to_string(),
            "droppedAttributesCount": limits.span_event.dropped(more.len()),
        })
    };
    let mut value = json!({"traceId": span.trace.to_string(), "spanId": span.id.to_string()});
    if let Some(state) = source.trace_state {
        value["traceState"] = json!(state);
    }
    if let Some(parent) = span.parent {
        value["parentSpanId"] = json!(parent.to_string());
    }
    let status = match &span.status {
        SpanStatus::Unset => json!({"code": 0}),
        SpanStatus::Error(message) => json!({"code": 2, "message": message}),
    };
    let rest = json!({
        "name": span.name, "kind": 1,
        "startTimeUnixNano": span.start.to_string(), "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes(&span.attributes, limits.span),
        "droppedAttributesCount": limits.span.dropped(span.attributes.len()),
        "events": span.events.iter().take(limits.span_events).map(event).collect::<Vec<Json>>(),
        "droppedEventsCount": span.events.len().saturating_sub(limits.span_events),
        "status": status, "links": [], "droppedLinksCount": 0,
        "flags": if span.is_parent_remote { SPAN_FLAGS_REMOTE } else { SPAN_FLAGS },
    });
    if let (Json::Object(into), Json::Object(rest)) = (&mut value, rest) {
        into.extend(rest);
    }
    value
}

fn resource(source: &Source) -> Json {
    json!({"attributes": attributes(source.resource, AttributeLimits::NONE), "droppedAttributesCount": 0})
}

/// The first ones of a record, as many as are allowed.
fn attributes(all: &Attributes, limits: AttributeLimits) -> Json {
    let kept = all.iter().take(limits.count);
    kept.map(|(name, value)| json!({"key": name, "value": any_value(value, limits)})).collect()
}

fn any_value(value: &Value, limits: AttributeLimits) -> Json {
    match value {
        Value::Text(text) => json!({"stringValue": limits.cut(text)}),
        Value::Int(number) => json!({"intValue": number}),
        Value::Double(value) => json!({"doubleValue": number(*value)}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::List(items) => {
            let items: Vec<Json> = items.iter().map(|item| json!({"stringValue": limits.cut(item)})).collect();
            json!({"arrayValue": {"values": items}})
        }
    }
}

/// A whole number without its fraction, as consumers of the JSON dialect have seen it.
fn number(value: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT { json!(value as i64) } else { json!(value) }
}
