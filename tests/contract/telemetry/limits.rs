//! The limits that the specification of OpenTelemetry names.

use super::{PRINT, attribute, collector, events, exporting, points};
use crate::common::{bash, finish, say, world};
use serde_json::{Value, json};
use testkit::Collector;

fn exported(env: &[(&str, &str)], protocol: &str) -> Collector {
    let (collector, world) = (collector(), world(json!([bash("echo hi"), say("ok")])));
    let run = exporting(&world, &collector.url()).env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
    let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    collector
}

/// How many attributes the records have at most, and whether each says how many it has not.
fn most(records: &[Value]) -> (usize, bool) {
    let count = |record: &Value| record["attributes"].as_array().map_or(0, Vec::len);
    let counted = records.iter().all(|record| record["droppedAttributesCount"].as_u64().is_some_and(|count| count > 0));
    (records.iter().map(count).max().unwrap_or_default(), counted)
}

#[test]
fn attributes_over_the_limit_are_dropped_and_counted() {
    for protocol in ["http/json", "http/protobuf", "grpc"] {
        let all = exported(&[("OTEL_ATTRIBUTE_COUNT_LIMIT", "6")], protocol);
        assert_eq!((most(&all.logs()), most(&all.spans())), ((6, true), (6, true)), "{protocol}");
        let tokens = &points(&all, "token.usage")[0];
        assert!(!attribute(tokens, "type").is_null(), "metrics have no limit");
    }
    let own = [
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "6"),
        ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "3"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "4"),
    ];
    let own = exported(&own, "http/json");
    assert_eq!((most(&own.logs()), most(&own.spans())), ((3, true), (4, true)));
    let none = exported(&[("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "0")], "http/json");
    assert_eq!(most(&none.logs()), (0, true));
}

#[test]
fn texts_over_the_limit_are_cut() {
    let cut = exported(&[("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")], "http/json");
    let record = &cut.logs()[1];
    assert_eq!(
        (attribute(record, "event.name"), attribute(record, "anthropic.provider")),
        (json!("user"), json!("firs"))
    );
    assert_eq!(record["body"]["stringValue"], "claude_code.user_prompt");
    assert_eq!(attribute(&cut.spans()[0], "anthropic.provider"), "firs");
    assert_eq!(attribute(&points(&cut, "session.count")[0], "anthropic.provider"), "firstParty");
    let own = exported(&[("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2")], "http/json");
    assert_eq!(attribute(&own.spans()[0], "anthropic.provider"), "fi");
    assert_eq!(attribute(&events(&own, "user_prompt")[0], "anthropic.provider"), "firstParty");
}

#[test]
fn a_value_that_is_no_number_counts_as_none() {
    let bad = [
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "-1"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "many"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1.5"),
        ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "99999999999999999999999"),
    ];
    let collector = exported(&bad, "http/json");
    let dropped = |record: &Value| record["droppedAttributesCount"].as_u64();
    assert!(collector.logs().iter().chain(&collector.spans()).all(|record| dropped(record) == Some(0)));
    assert_eq!(attribute(&events(&collector, "user_prompt")[0], "anthropic.provider"), "firstParty");
}
