//! A reader of OTLP in protobuf, written from the published messages: what it gives has the form of OTLP in JSON.

use serde_json::{Map, Value, json};

/// Field number, name, kind. A `+` before a kind means that the field is a list.
type Row = (u64, &'static str, &'static str);

const SPAN: &[Row] = &[
    (1, "traceId", "hex"),
    (2, "spanId", "hex"),
    (3, "traceState", "text"),
    (4, "parentSpanId", "hex"),
    (5, "name", "text"),
    (6, "kind", "int"),
    (7, "startTimeUnixNano", "time"),
    (8, "endTimeUnixNano", "time"),
    (9, "attributes", "+KeyValue"),
    (10, "droppedAttributesCount", "int"),
    (11, "events", "+Event"),
    (12, "droppedEventsCount", "int"),
    (15, "status", "Status"),
    (16, "flags", "fixed32"),
];
const LOG_RECORD: &[Row] = &[
    (1, "timeUnixNano", "time"),
    (5, "body", "AnyValue"),
    (6, "attributes", "+KeyValue"),
    (7, "droppedAttributesCount", "int"),
    (8, "flags", "fixed32"),
    (9, "traceId", "hex"),
    (10, "spanId", "hex"),
    (11, "observedTimeUnixNano", "time"),
];
const EVENT: &[Row] = &[
    (1, "timeUnixNano", "time"),
    (2, "name", "text"),
    (3, "attributes", "+KeyValue"),
    (4, "droppedAttributesCount", "int"),
];
const ANY_VALUE: &[Row] = &[
    (1, "stringValue", "text"),
    (2, "boolValue", "bool"),
    (3, "intValue", "int"),
    (4, "doubleValue", "double"),
    (5, "arrayValue", "ArrayValue"),
];
const POINT: &[Row] = &[
    (2, "startTimeUnixNano", "time"),
    (3, "timeUnixNano", "time"),
    (4, "asDouble", "double"),
    (7, "attributes", "+KeyValue"),
];

fn table(message: &str) -> &'static [Row] {
    match message {
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
        "AnyValue" => ANY_VALUE,
        "ArrayValue" => &[(1, "values", "+AnyValue")],
        "Span" => SPAN,
        "Event" => EVENT,
        "Status" => &[(2, "message", "text"), (3, "code", "int")],
        "LogRecord" => LOG_RECORD,
        "Metric" => &[(1, "name", "text"), (2, "description", "text"), (3, "unit", "text"), (7, "sum", "Sum")],
        "Sum" => &[(1, "dataPoints", "+Point"), (2, "aggregationTemporality", "int"), (3, "isMonotonic", "bool")],
        "Point" => POINT,
        _ => &[],
    }
}

/// A batch of `traces`, `logs` or `metrics`; `None` where the bytes are no such message.
pub fn decode(message: &str, mut bytes: &[u8]) -> Option<Value> {
    let mut value = Map::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let (_, name, kind) = table(message).iter().find(|row| row.0 == key >> 3)?;
        let one = field(kind, key & 7, &mut bytes)?;
        if kind.starts_with('+') {
            value.entry(*name).or_insert_with(|| json!([])).as_array_mut()?.push(one);
        } else {
            value.insert((*name).to_owned(), one);
        }
    }
    Some(Value::Object(value))
}

/// One value, if it is written in the way that its kind is written.
fn field(kind: &str, wire: u64, bytes: &mut &[u8]) -> Option<Value> {
    Some(match (kind, wire) {
        ("int", 0) => json!(varint(bytes)?),
        ("bool", 0) => json!(varint(bytes)? == 1),
        ("time", 1) => json!(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?).to_string()),
        ("double", 1) => json!(f64::from_le_bytes(take(bytes, 8)?.try_into().ok()?)),
        ("fixed32", 5) => json!(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?)),
        (kind, 2) => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let inside = take(bytes, length)?;
            match kind {
                "text" => json!(std::str::from_utf8(inside).ok()?),
                "hex" => json!(inside.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
                message => decode(message.trim_start_matches('+'), inside)?,
            }
        }
        _ => return None,
    })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let first = take(bytes, 1)?[0];
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_written_as_published_is_read() {
        // A name of two letters in a scope.
        assert_eq!(decode("Scope", &[0x0a, 2, b'h', b'i']), Some(json!({"name": "hi"})));
        assert_eq!(decode("Scope", &[0x0a, 3, b'h', b'i']), None, "too short");
        assert_eq!(decode("Scope", &[0x08, 1]), None, "a number where a text belongs");
        assert_eq!(decode("Scope", &[0x52, 0]), None, "an unknown field");
        assert_eq!(decode("Sum", &[0x10, 1, 0x18, 1]), Some(json!({"aggregationTemporality": 1, "isMonotonic": true})));
    }
}
