//! One conversation (an answer, Bash, Read, Edit) as it was recorded from another program, and as it is exported here.

use super::{PRINT, attribute, collector, events, exporting, form, names, points, spans, sum};
use crate::common::{bash, call, finish, say};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::{Collector, Outcome, World};

const LOGS: &str = include_str!("../../../crates/telemetry/fixtures/logs.json");
const METRICS: &str = include_str!("../../../crates/telemetry/fixtures/metrics.json");
const TRACES: &str = include_str!("../../../crates/telemetry/fixtures/traces.json");
/// The model of the recording, with the effort that it was asked for.
const MODEL: [&str; 5] = ["--model", "claude-opus-5-5", "--effort", "medium", "--dangerously-skip-permissions"];

/// The recorded conversation, once more.
fn conversation(protocol: &str) -> (Collector, Outcome) {
    let file = json!({"file_path": "$WD/a.txt"});
    let edit = json!({"file_path": "$WD/a.txt", "old_string": "two", "new_string": "2\n3"});
    let mut first = bash("echo hi");
    first["content"].as_array_mut().unwrap().insert(0, json!({"type": "text", "text": "At work."}));
    let turns = json!([first, call("Read", &file), call("Edit", &edit), say("done")]);
    let script = mock::Script::from_value(turns).expect("a script");
    let world = World::new([("a.txt", "one\ntwo\n")], script).expect("a world");
    let collector = collector();
    let run = exporting(&world, &collector.url()).env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    let outcome = finish(run.args(PRINT).args(MODEL));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    (collector, outcome)
}

/// The forms of all records, by what `name` says of each.
fn forms(records: &[Value], name: impl Fn(&Value) -> String) -> BTreeSet<(String, Vec<(String, String)>)> {
    records.iter().map(|record| (name(record), form(record))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn events_have_the_attributes_of_the_recorded_ones_in_their_order() {
    let (collector, _) = conversation("http/json");
    let recorded: Value = serde_json::from_str(LOGS).unwrap();
    let name = |record: &Value| text(&record["body"]["stringValue"]);
    let records = recorded["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    let ours = forms(&collector.logs(), name);
    for expected in forms(records, name) {
        assert!(ours.contains(&expected), "{expected:#?}\nours: {ours:#?}");
    }
    let ours = collector.batches().into_iter().find(|batch| batch.line.contains("/v1/logs")).unwrap().body;
    let resource = |body: &Value| form(&body["resourceLogs"][0]["resource"]);
    assert_eq!(resource(&ours), resource(&recorded));
    assert_eq!(
        ours["resourceLogs"][0]["scopeLogs"][0]["scope"]["name"],
        recorded["resourceLogs"][0]["scopeLogs"][0]["scope"]["name"]
    );
    let prompt = &events(&collector, "user_prompt")[0];
    assert_eq!((attribute(prompt, "prompt_length"), attribute(prompt, "prompt")), (json!("2"), json!("<REDACTED>")));
    let bash = &events(&collector, "tool_result")[0];
    assert_eq!((attribute(bash, "success"), attribute(bash, "tool_result_size_bytes")), (json!("true"), json!("2")));
    let numbers: Vec<Value> = collector.logs().iter().map(|record| attribute(record, "event.sequence")).collect();
    assert_eq!(numbers, (0..numbers.len()).map(|number| json!(number)).collect::<Vec<_>>());
}

/// Name, unit, whether it counts changes, and the names and kinds of its attributes.
type MetricPoint = (String, String, bool, Vec<(String, String)>);

#[test]
fn metrics_have_the_names_units_and_attributes_of_the_recorded_ones() {
    let (collector, outcome) = conversation("http/json");
    let recorded: Value = serde_json::from_str(METRICS).unwrap();
    let recorded = recorded["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let told = |metrics: &[Value]| -> BTreeSet<MetricPoint> {
        let one = |metric: &Value| {
            let sum = metric["sum"].clone();
            let is_delta = sum["aggregationTemporality"] == 1 && sum["isMonotonic"] == true;
            let (name, unit) = (text(&metric["name"]), text(&metric["unit"]));
            let points = sum["dataPoints"].as_array().cloned().unwrap_or_default();
            points
                .into_iter()
                .map(move |point| (name.clone(), unit.clone(), is_delta, form(&point)))
                .collect::<Vec<_>>()
        };
        metrics.iter().flat_map(one).collect()
    };
    assert_eq!(told(&collector.metrics()), told(recorded));
    let lines = |kind: &str| sum(&collector, "lines_of_code.count", "type", kind);
    assert_eq!((lines("added"), lines("removed")), (2.0, 1.0));
    assert_eq!(attribute(&points(&collector, "code_edit_tool.decision")[0], "language"), "Plain text");
    assert_eq!(attribute(&points(&collector, "session.count")[0], "start_type"), "fresh");

    // What a dashboard adds up is what the session says that it cost.
    let result = outcome.result().unwrap();
    let usage = result["modelUsage"].as_object().unwrap().values().next().unwrap().clone();
    for (kind, key) in [
        ("input", "inputTokens"),
        ("output", "outputTokens"),
        ("cacheRead", "cacheReadInputTokens"),
        ("cacheCreation", "cacheCreationInputTokens"),
    ] {
        assert_eq!(Some(sum(&collector, "token.usage", "type", kind)), usage[key].as_f64(), "{kind}");
    }
    let cost = sum(&collector, "cost.usage", "query_source", "main");
    assert!(cost > 0.0 && (cost - result["total_cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{cost}");
}

#[test]
fn spans_have_the_attributes_and_the_order_of_the_recorded_ones() {
    let (collector, _) = conversation("http/json");
    let recorded: Value = serde_json::from_str(TRACES).unwrap();
    let recorded = recorded["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let name = |span: &Value| text(&span["name"]);
    let ours = forms(&collector.spans(), name);
    for expected in forms(recorded, name) {
        assert!(ours.contains(&expected), "{expected:#?}\nours: {ours:#?}");
    }
    // The same names hang below the same names.
    let edges = |spans: &[Value]| -> BTreeSet<(String, String)> {
        let parent = |span: &Value| spans.iter().find(|other| other["spanId"] == span["parentSpanId"]).map(name);
        spans.iter().map(|span| (name(span), parent(span).unwrap_or_default())).collect()
    };
    assert_eq!(edges(&collector.spans()), edges(recorded));
    let ids: BTreeSet<String> = collector.spans().iter().map(|span| text(&span["spanId"])).collect();
    assert_eq!(ids.len(), collector.spans().len(), "two spans of one id");
    let root = &spans(&collector, "interaction")[0];
    // What is told before the first prompt belongs to no trace.
    let (before, after): (Vec<Value>, Vec<Value>) =
        collector.logs().into_iter().partition(|record| attribute(record, "prompt.id").is_null());
    let names: Vec<Value> = before.iter().map(|record| attribute(record, "event.name")).collect();
    assert_eq!(names, ["managed_settings_resolved"]);
    assert!(!after.is_empty());
    assert!(after.iter().all(|record| record["traceId"] == root["traceId"] && record["flags"] == 1));
    assert_eq!(root["flags"], 257);
}

#[test]
fn every_protocol_carries_the_same() {
    let (json, _) = conversation("http/json");
    for protocol in ["http/protobuf", "grpc"] {
        let (other, _) = conversation(protocol);
        assert_eq!(names(&other), names(&json), "{protocol}");
        let of_spans = |collector: &Collector| forms(&collector.spans(), |span| text(&span["name"]));
        assert_eq!(of_spans(&other), of_spans(&json), "{protocol}");
        let of_metrics = |collector: &Collector| -> BTreeSet<String> {
            collector.metrics().iter().map(|metric| text(&metric["name"])).collect()
        };
        assert_eq!(of_metrics(&other), of_metrics(&json), "{protocol}");
    }
}
