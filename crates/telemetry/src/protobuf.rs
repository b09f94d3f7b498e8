//! The OTLP tree as protobuf: one table a message, and a writer of varints, fixed numbers and lengths.
//!
//! Numbers and kinds are those of the published OTLP messages. A field that a table does not have is left out.

use serde_json::Value;

#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// Hexadecimal in the tree, bytes on the wire.
    Bytes,
    Bool,
    /// Enumerations and unsigned numbers, too.
    Int,
    Fixed32,
    Fixed64,
    Double,
    Message(&'static [Field]),
}

type Field = (&'static str, u32, Kind);

const ANY_VALUE: &[Field] = &[
    ("stringValue", 1, Kind::Text),
    ("boolValue", 2, Kind::Bool),
    ("intValue", 3, Kind::Int),
    ("doubleValue", 4, Kind::Double),
    ("arrayValue", 5, Kind::Message(&[("values", 1, Kind::Message(PLAIN_VALUE))])),
];
/// A value inside a list.
const PLAIN_VALUE: &[Field] = &[
    ("stringValue", 1, Kind::Text),
    ("boolValue", 2, Kind::Bool),
    ("intValue", 3, Kind::Int),
    ("doubleValue", 4, Kind::Double),
];
const KEY_VALUE: &[Field] = &[("key", 1, Kind::Text), ("value", 2, Kind::Message(ANY_VALUE))];
const RESOURCE: &[Field] = &[("attributes", 1, Kind::Message(KEY_VALUE)), ("droppedAttributesCount", 2, Kind::Int)];
const SCOPE: &[Field] = &[("name", 1, Kind::Text), ("version", 2, Kind::Text)];
const SPAN_EVENT: &[Field] = &[
    ("timeUnixNano", 1, Kind::Fixed64),
    ("name", 2, Kind::Text),
    ("attributes", 3, Kind::Message(KEY_VALUE)),
    ("droppedAttributesCount", 4, Kind::Int),
];
const STATUS: &[Field] = &[("message", 2, Kind::Text), ("code", 3, Kind::Int)];
const SPAN: &[Field] = &[
    ("traceId", 1, Kind::Bytes),
    ("spanId", 2, Kind::Bytes),
    ("traceState", 3, Kind::Text),
    ("parentSpanId", 4, Kind::Bytes),
    ("name", 5, Kind::Text),
    ("kind", 6, Kind::Int),
    ("startTimeUnixNano", 7, Kind::Fixed64),
    ("endTimeUnixNano", 8, Kind::Fixed64),
    ("attributes", 9, Kind::Message(KEY_VALUE)),
    ("droppedAttributesCount", 10, Kind::Int),
    ("events", 11, Kind::Message(SPAN_EVENT)),
    ("droppedEventsCount", 12, Kind::Int),
    ("droppedLinksCount", 14, Kind::Int),
    ("status", 15, Kind::Message(STATUS)),
    ("flags", 16, Kind::Fixed32),
];
const LOG_RECORD: &[Field] = &[
    ("timeUnixNano", 1, Kind::Fixed64),
    ("body", 5, Kind::Message(ANY_VALUE)),
    ("attributes", 6, Kind::Message(KEY_VALUE)),
    ("droppedAttributesCount", 7, Kind::Int),
    ("flags", 8, Kind::Fixed32),
    ("traceId", 9, Kind::Bytes),
    ("spanId", 10, Kind::Bytes),
    ("observedTimeUnixNano", 11, Kind::Fixed64),
];
const POINT: &[Field] = &[
    ("startTimeUnixNano", 2, Kind::Fixed64),
    ("timeUnixNano", 3, Kind::Fixed64),
    ("asDouble", 4, Kind::Double),
    ("attributes", 7, Kind::Message(KEY_VALUE)),
];
const SUM: &[Field] = &[
    ("dataPoints", 1, Kind::Message(POINT)),
    ("aggregationTemporality", 2, Kind::Int),
    ("isMonotonic", 3, Kind::Bool),
];
const METRIC: &[Field] =
    &[("name", 1, Kind::Text), ("description", 2, Kind::Text), ("unit", 3, Kind::Text), ("sum", 7, Kind::Message(SUM))];
const REQUEST: &[Field] = &[
    (
        "resourceSpans",
        1,
        Kind::Message(&[
            ("resource", 1, Kind::Message(RESOURCE)),
            ("scopeSpans", 2, Kind::Message(&[("scope", 1, Kind::Message(SCOPE)), ("spans", 2, Kind::Message(SPAN))])),
        ]),
    ),
    (
        "resourceLogs",
        1,
        Kind::Message(&[
            ("resource", 1, Kind::Message(RESOURCE)),
            (
                "scopeLogs",
                2,
                Kind::Message(&[("scope", 1, Kind::Message(SCOPE)), ("logRecords", 2, Kind::Message(LOG_RECORD))]),
            ),
        ]),
    ),
    (
        "resourceMetrics",
        1,
        Kind::Message(&[
            ("resource", 1, Kind::Message(RESOURCE)),
            (
                "scopeMetrics",
                2,
                Kind::Message(&[("scope", 1, Kind::Message(SCOPE)), ("metrics", 2, Kind::Message(METRIC))]),
            ),
        ]),
    ),
];

const VARINT: u32 = 0;
const WIRE_64: u32 = 1;
const LENGTH: u32 = 2;
const WIRE_32: u32 = 5;

/// An export request of any of the three signals.
pub(crate) fn encode(tree: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    message(tree, REQUEST, &mut out);
    out
}

fn message(tree: &Value, fields: &[Field], out: &mut Vec<u8>) {
    // A value of a choice is written even where it is the default; the others are left out then, as the format has it.
    let is_choice = std::ptr::eq(fields, ANY_VALUE) || std::ptr::eq(fields, PLAIN_VALUE);
    for (name, number, kind) in fields {
        match tree.get(*name) {
            Some(Value::Array(items)) => items.iter().for_each(|item| field(item, *number, *kind, true, out)),
            Some(value) => field(value, *number, *kind, is_choice || *name == "asDouble", out),
            None => {}
        }
    }
}

fn field(value: &Value, number: u32, kind: Kind, keeps_default: bool, out: &mut Vec<u8>) {
    let key = |wire: u32, out: &mut Vec<u8>| varint(u64::from(number << 3 | wire), out);
    match kind {
        Kind::Text => bytes(value.as_str().unwrap_or_default().as_bytes(), number, keeps_default, out),
        Kind::Bytes => bytes(&unhex(value.as_str().unwrap_or_default()), number, keeps_default, out),
        Kind::Message(fields) => {
            let mut inner = Vec::new();
            message(value, fields, &mut inner);
            bytes(&inner, number, true, out);
        }
        Kind::Bool if keeps_default || value.as_bool() == Some(true) => {
            key(VARINT, out);
            out.push(u8::from(value.as_bool() == Some(true)));
        }
        Kind::Int if keeps_default || integer(value) != 0 => {
            key(VARINT, out);
            varint(integer(value), out);
        }
        Kind::Fixed32 if keeps_default || integer(value) != 0 => {
            key(WIRE_32, out);
            out.extend(u32::try_from(integer(value)).unwrap_or(0).to_le_bytes());
        }
        Kind::Fixed64 if keeps_default || integer(value) != 0 => {
            key(WIRE_64, out);
            out.extend(integer(value).to_le_bytes());
        }
        Kind::Double if keeps_default || value.as_f64() != Some(0.0) => {
            key(WIRE_64, out);
            out.extend(value.as_f64().unwrap_or(0.0).to_le_bytes());
        }
        Kind::Bool | Kind::Int | Kind::Fixed32 | Kind::Fixed64 | Kind::Double => {}
    }
}

fn bytes(content: &[u8], number: u32, keeps_empty: bool, out: &mut Vec<u8>) {
    if content.is_empty() && !keeps_empty {
        return;
    }
    varint(u64::from(number << 3 | LENGTH), out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// A number of the tree; times are texts in it. Negative ones take the two's complement, as the format has it.
fn integer(value: &Value) -> u64 {
    let number = || value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned));
    number().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0)
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).filter_map(digit).collect()
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;
