//! What an operator's collector gets of a session: events, metrics and spans, held against payloads that were recorded from
//! another program, and what it must not get.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "telemetry/bodies.rs"]
mod bodies;
#[path = "telemetry/collectors.rs"]
mod collectors;
#[path = "telemetry/content.rs"]
mod content;
#[path = "telemetry/helper.rs"]
mod helper;
#[path = "telemetry/limits.rs"]
mod limits;
#[path = "telemetry/payloads.rs"]
mod payloads;
#[path = "telemetry/reached.rs"]
mod reached;
#[path = "telemetry/privacy.rs"]
mod privacy;
#[path = "telemetry/sessions.rs"]
mod sessions;
#[path = "telemetry/startup.rs"]
mod startup;
#[path = "telemetry/traces.rs"]
mod traces;

use common::claude;
use serde_json::Value;
use testkit::{Collector, Manner, Run, World};

const PRINT: [&str; 5] = ["-p", "go", "--output-format", "stream-json", "--verbose"];

fn collector() -> Collector {
    Collector::start(Manner::Takes).expect("a collector")
}

/// A session that exports everything to this address.
fn exporting(world: &World, url: &str) -> Run {
    claude(world)
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1")
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_LOGS_EXPORTER", "otlp")
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        .env("TERM", "dumb")
}

/// The value of an attribute, whatever its kind; null where there is none.
fn attribute(record: &Value, name: &str) -> Value {
    let all = record["attributes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = all.iter().find(|one| one["key"] == name).and_then(|one| one["value"].as_object());
    found.and_then(|value| value.values().next()).cloned().unwrap_or_default()
}

/// The names of its attributes with their kinds, in order.
fn form(record: &Value) -> Vec<(String, String)> {
    let all = record["attributes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let kind =
        |one: &Value| one["value"].as_object().and_then(|value| value.keys().next().cloned()).unwrap_or_default();
    all.iter().map(|one| (one["key"].as_str().unwrap_or_default().to_owned(), kind(one))).collect()
}

/// The events of this name.
fn events(collector: &Collector, name: &str) -> Vec<Value> {
    let body = format!("claude_code.{name}");
    collector.logs().into_iter().filter(|record| record["body"]["stringValue"] == body).collect()
}

fn names(collector: &Collector) -> Vec<String> {
    collector.logs().iter().filter_map(|record| attribute(record, "event.name").as_str().map(str::to_owned)).collect()
}

/// The spans of this name, without the prefix.
fn spans(collector: &Collector, name: &str) -> Vec<Value> {
    let name = format!("claude_code.{name}");
    collector.spans().into_iter().filter(|span| span["name"] == name).collect()
}

/// The points of a metric.
fn points(collector: &Collector, name: &str) -> Vec<Value> {
    let name = format!("claude_code.{name}");
    let of_name = collector.metrics().into_iter().filter(|metric| metric["name"] == name);
    of_name.flat_map(|metric| metric["sum"]["dataPoints"].as_array().cloned().unwrap_or_default()).collect()
}

/// The sum of a metric's points whose attribute has this value.
fn sum(collector: &Collector, name: &str, key: &str, value: &str) -> f64 {
    let points = points(collector, name).into_iter().filter(|point| attribute(point, key) == value);
    points.filter_map(|point| point["asDouble"].as_f64()).sum()
}
