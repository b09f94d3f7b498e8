//! The encoders against payloads recorded from another program, and against a reader of protobuf that shares nothing with the
//! writer.

use super::encode;
use crate::attribute::{Attributes, Value};
use crate::config::Temporality;
use crate::json::{self, Source};
use crate::limits::Limits;
use crate::record::{LogRecord, Point, Series, Span, SpanStatus};
use crate::trace::{SpanId, TraceContext, TraceId};
use serde_json::{Value as Json, json};
use testkit::otlp::decode;

fn fixture(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

fn metrics() -> Json {
    fixture(include_str!("../fixtures/metrics.json"))
}

fn logs() -> Json {
    fixture(include_str!("../fixtures/logs.json"))
}

fn traces() -> Json {
    fixture(include_str!("../fixtures/traces.json"))
}

fn attributes(of: &Json) -> Attributes {
    let value = |value: &Json| match value.as_object().unwrap().iter().next().unwrap() {
        (kind, value) if kind == "stringValue" => Value::Text(value.as_str().unwrap().into()),
        (kind, value) if kind == "intValue" => Value::Int(value.as_i64().unwrap()),
        (kind, value) if kind == "doubleValue" => Value::Double(value.as_f64().unwrap()),
        (kind, value) if kind == "boolValue" => Value::Bool(value.as_bool().unwrap()),
        (_, list) => {
            let texts = list["values"].as_array().unwrap().iter();
            Value::List(texts.map(|one| one["stringValue"].as_str().unwrap().to_owned()).collect())
        }
    };
    let list = of["attributes"].as_array().unwrap().iter();
    list.map(|one| (one["key"].as_str().unwrap().to_owned(), value(&one["value"]))).collect()
}

fn time(value: &Json) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

fn trace(value: &Json) -> TraceId {
    TraceId(u128::from_str_radix(value.as_str().unwrap(), 16).unwrap())
}

fn span_id(value: &Json) -> Option<SpanId> {
    value.as_str().map(|text| SpanId(u64::from_str_radix(text, 16).unwrap()))
}

#[test]
fn our_payloads_have_the_form_of_the_recorded_ones() {
    let recorded = logs();
    let batch = &recorded["resourceLogs"][0];
    let resource = attributes(&batch["resource"]);
    let source = Source { resource: &resource, version: "2.1.325", trace_state: None, limits: Limits::read(&|_| None) };
    let records = batch["scopeLogs"][0]["logRecords"].as_array().unwrap().iter().map(|one| LogRecord {
        at: time(&one["timeUnixNano"]),
        body: one["body"]["stringValue"].as_str().unwrap().into(),
        attributes: attributes(one),
        context: span_id(&one["spanId"]).map(|span| TraceContext {
            trace: trace(&one["traceId"]),
            span,
            is_sampled: true,
        }),
    });
    assert_eq!(json::logs(&source, &records.collect::<Vec<_>>()), recorded);

    let recorded = traces();
    let spans = recorded["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().iter().map(|one| Span {
        trace: trace(&one["traceId"]),
        id: span_id(&one["spanId"]).unwrap(),
        parent: span_id(&one["parentSpanId"]),
        is_parent_remote: one["flags"] == 769,
        name: one["name"].as_str().unwrap().into(),
        start: time(&one["startTimeUnixNano"]),
        end: time(&one["endTimeUnixNano"]),
        attributes: attributes(one),
        events: one["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| (event["name"].as_str().unwrap().into(), time(&event["timeUnixNano"]), attributes(event)))
            .collect(),
        status: SpanStatus::Unset,
    });
    assert_eq!(json::traces(&source, &spans.collect::<Vec<_>>()), recorded);

    let recorded = metrics();
    let list = recorded["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let units = ["", "USD", "tokens", "s"];
    let series: Vec<Series> = list
        .iter()
        .map(|one| Series {
            name: one["name"].as_str().unwrap().into(),
            unit: units.iter().find(|unit| **unit == one["unit"]).unwrap(),
            description: "",
            points: one["sum"]["dataPoints"]
                .as_array()
                .unwrap()
                .iter()
                .map(|point| Point {
                    attributes: attributes(point),
                    start: time(&point["startTimeUnixNano"]),
                    sum: point["asDouble"].as_f64().unwrap(),
                })
                .collect(),
        })
        .collect();
    let now = time(&list[0]["sum"]["dataPoints"][0]["timeUnixNano"]);
    assert_eq!(json::metrics(&source, &series, Temporality::Delta, now), recorded);
}

/// What protobuf does not carry: defaults and empty lists. Numbers that are doubles there.
fn without_defaults(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let is_choice = fields.len() == 1 && fields.keys().next().is_some_and(|key| key.ends_with("Value"));
            let keeps = |key: &String, value: &Json| {
                is_choice || key == "asDouble" || !(*value == json!(0) || *value == json!("") || *value == json!([]))
            };
            let fields = fields.iter().filter(|(key, value)| keeps(key, value));
            fields
                .map(|(key, value)| match key.as_str() {
                    "asDouble" | "doubleValue" => (key.clone(), json!(value.as_f64())),
                    _ => (key.clone(), without_defaults(value)),
                })
                .collect()
        }
        Json::Array(items) => items.iter().map(without_defaults).collect(),
        other => other.clone(),
    }
}

#[test]
fn protobuf_holds_what_the_tree_holds() {
    for (name, tree) in [("metrics", metrics()), ("logs", logs()), ("traces", traces())] {
        assert_eq!(decode(name, &encode(&tree)), Some(without_defaults(&tree)), "{name}");
    }
    let negative = json!({"resourceLogs": [{"resource": {"attributes": [{"key": "n", "value": {"intValue": -1}}]}}]});
    let bytes = encode(&negative);
    assert!(bytes.ends_with(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), "{bytes:x?}");
}

#[test]
fn attributes_over_the_limits_are_cut_and_dropped_and_counted() {
    let limits = Limits::read(&|name| match name {
        "OTEL_ATTRIBUTE_COUNT_LIMIT" => Some(2),
        "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" => Some(3),
        "OTEL_SPAN_EVENT_COUNT_LIMIT" => Some(1),
        _ => None,
    });
    let resource: Attributes =
        ["one", "two", "three"].map(|name| (name.to_owned(), Value::Text("four".into()))).to_vec();
    let source = Source { resource: &resource, version: "1", trace_state: None, limits };
    let list = ("list".to_owned(), Value::List(vec!["abcd".into(), "äöüß".into()]));
    let all = vec![("text".to_owned(), "abcd".into()), list, ("last".to_owned(), true.into())];
    let kept = json!([
        {"key": "text", "value": {"stringValue": "abc"}},
        {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "abc"}, {"stringValue": "äöü"}]}}},
    ]);

    let record = LogRecord { at: 1, body: "longer than three".into(), attributes: all.clone(), context: None };
    let tree = json::logs(&source, &[record]);
    let batch = &tree["resourceLogs"][0];
    let record = &batch["scopeLogs"][0]["logRecords"][0];
    assert_eq!((&record["attributes"], &record["droppedAttributesCount"]), (&kept, &json!(1)));
    assert_eq!(record["body"]["stringValue"], "longer than three");
    assert_eq!(attributes(&batch["resource"]), resource, "the resource has no limits");
    assert_eq!(decode("logs", &encode(&tree)), Some(without_defaults(&tree)));

    let context = TraceContext { trace: TraceId(1), span: SpanId(2), is_sampled: true };
    let mut span = Span::new("s", context, None);
    (span.start, span.end) = (1, 2);
    span.attributes.clone_from(&all);
    span.events = vec![("first".into(), 1, all), ("second".into(), 2, Vec::new())];
    let tree = json::traces(&source, &[span]);
    let span = &tree["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!((&span["attributes"], &span["droppedAttributesCount"]), (&kept, &json!(1)));
    assert_eq!((span["events"].as_array().map(Vec::len), &span["droppedEventsCount"]), (Some(1), &json!(1)));
    let event = &span["events"][0];
    assert_eq!((&event["attributes"], &event["droppedAttributesCount"]), (&kept, &json!(1)));
    assert_eq!(decode("traces", &encode(&tree)), Some(without_defaults(&tree)));
}
