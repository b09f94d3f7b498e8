//! The encoders against payloads recorded from another program, and against a reader of protobuf of the test's own.

use super::encode;
use crate::attribute::{Attributes, Value};
use crate::config::Temporality;
use crate::json::{self, Source};
use crate::record::{LogRecord, Point, Series, Span, SpanStatus};
use crate::trace::{SpanId, TraceContext, TraceId};
use serde_json::{Value as Json, json};

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
    let source = Source { resource: &resource, version: "2.1.325", trace_state: None };
    let records = batch["scopeLogs"][0]["logRecords"].as_array().unwrap().iter().map(|one| LogRecord {
        at: time(&one["timeUnixNano"]),
        body: one["body"]["stringValue"].as_str().unwrap().into(),
        attributes: attributes(one),
        context: span_id(&one["spanId"]).map(|span| TraceContext { trace: trace(&one["traceId"]), span }),
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

/// What a field holds, by its number in each message; written down from the published definitions for this test.
fn kind(message: &str, number: u64) -> (&'static str, &'static str) {
    let table: &[(u64, &str, &str)] = match message {
        "traces" => &[(1, "resourceSpans", "+ResourceSpans")],
        "logs" => &[(1, "resourceLogs", "+ResourceLogs")],
        "metrics" => &[(1, "resourceMetrics", "+ResourceMetrics")],
        "ResourceSpans" => &[(1, "resource", "Resource"), (2, "scopeSpans", "+ScopeSpans")],
        "ResourceLogs" => &[(1, "resource", "Resource"), (2, "scopeLogs", "+ScopeLogs")],
        "ResourceMetrics" => &[(1, "resource", "Resource"), (2, "scopeMetrics", "+ScopeMetrics")],
        "ScopeSpans" => &[(1, "scope", "Scope"), (2, "spans", "+Span")],
        "ScopeLogs" => &[(1, "scope", "Scope"), (2, "logRecords", "+LogRecord")],
        "ScopeMetrics" => &[(1, "scope", "Scope"), (2, "metrics", "+Metric")],
        "Resource" => &[(1, "attributes", "+KeyValue")],
        "Scope" => &[(1, "name", "text"), (2, "version", "text")],
        "KeyValue" => &[(1, "key", "text"), (2, "value", "AnyValue")],
        "AnyValue" => &[
            (1, "stringValue", "text"),
            (2, "boolValue", "bool"),
            (3, "intValue", "int"),
            (4, "doubleValue", "double"),
            (5, "arrayValue", "ArrayValue"),
        ],
        "ArrayValue" => &[(1, "values", "+AnyValue")],
        "Span" => &[
            (1, "traceId", "hex"),
            (2, "spanId", "hex"),
            (4, "parentSpanId", "hex"),
            (5, "name", "text"),
            (6, "kind", "int"),
            (7, "startTimeUnixNano", "time"),
            (8, "endTimeUnixNano", "time"),
            (9, "attributes", "+KeyValue"),
            (11, "events", "+Event"),
            (15, "status", "Status"),
            (16, "flags", "fixed32"),
        ],
        "Event" => &[(1, "timeUnixNano", "time"), (2, "name", "text"), (3, "attributes", "+KeyValue")],
        "Status" => &[(2, "message", "text"), (3, "code", "int")],
        "LogRecord" => &[
            (1, "timeUnixNano", "time"),
            (5, "body", "AnyValue"),
            (6, "attributes", "+KeyValue"),
            (8, "flags", "fixed32"),
            (9, "traceId", "hex"),
            (10, "spanId", "hex"),
            (11, "observedTimeUnixNano", "time"),
        ],
        "Metric" => &[(1, "name", "text"), (2, "description", "text"), (3, "unit", "text"), (7, "sum", "Sum")],
        "Sum" => &[(1, "dataPoints", "+Point"), (2, "aggregationTemporality", "int"), (3, "isMonotonic", "bool")],
        "Point" => &[
            (2, "startTimeUnixNano", "time"),
            (3, "timeUnixNano", "time"),
            (4, "asDouble", "double"),
            (7, "attributes", "+KeyValue"),
        ],
        other => panic!("no message {other}"),
    };
    match table.iter().find(|row| row.0 == number) {
        Some(row) => (row.1, row.2),
        None => panic!("{message} has no field {number}"),
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    value
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken
}

fn decoded(message: &str, mut bytes: &[u8]) -> Json {
    let mut value = json!({});
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (name, kind) = kind(message, key >> 3);
        let payload: Vec<u8> = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            1 => take(&mut bytes, 8).to_vec(),
            2 => {
                let length = varint(&mut bytes) as usize;
                take(&mut bytes, length).to_vec()
            }
            5 => take(&mut bytes, 4).to_vec(),
            wire => panic!("wire type {wire}"),
        };
        let number = || u64::from_le_bytes(payload.clone().try_into().unwrap());
        let expected_wire = match kind {
            "int" | "bool" => 0,
            "time" | "double" => 1,
            "fixed32" => 5,
            _ => 2,
        };
        assert_eq!(key & 7, expected_wire, "{message}.{name}");
        let one = match kind {
            "text" => json!(String::from_utf8(payload).unwrap()),
            "hex" => json!(payload.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
            "bool" => json!(number() == 1),
            "int" => json!(number()),
            "time" => json!(number().to_string()),
            "double" => json!(f64::from_le_bytes(payload.try_into().unwrap())),
            "fixed32" => json!(u32::from_le_bytes(payload.try_into().unwrap())),
            inner => decoded(inner.trim_start_matches('+'), &payload),
        };
        if kind.starts_with('+') {
            match value.get_mut(name) {
                Some(Json::Array(list)) => list.push(one),
                _ => value[name] = json!([one]),
            }
        } else {
            value[name] = one;
        }
    }
    value
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
        assert_eq!(decoded(name, &encode(&tree)), without_defaults(&tree), "{name}");
    }
    let negative = json!({"resourceLogs": [{"resource": {"attributes": [{"key": "n", "value": {"intValue": -1}}]}}]});
    let bytes = encode(&negative);
    assert!(bytes.ends_with(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), "{bytes:x?}");
}
