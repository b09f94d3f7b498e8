//! Does a request contain what its turn expects? A subset match with a handful of operators.

use crate::script::kind;
use serde_json::Value;

/// Differences are shown with at most this much of a value: requests hold whole files.
const SHOWN_CHARS: usize = 200;

/// `None` if `actual` contains `expected`; otherwise where it differs and how.
///
/// Objects match by the keys expected, lists by length and element. An object of one `$` key is an
/// operator: `$contains` (text inside the value's text or JSON), `$last` and `$any` (an element),
/// `$len` (of a list), `$absent` (the key must not be there).
pub(crate) fn difference(expected: &Value, actual: &Value) -> Option<String> {
    at("request", expected, Some(actual))
}

fn at(place: &str, expected: &Value, actual: Option<&Value>) -> Option<String> {
    if let Some((operator, operand)) = operator(expected) {
        return apply(place, operator, operand, actual);
    }
    let Some(actual) = actual else {
        return Some(format!("{place} is missing; expected {}", shown(expected)));
    };
    match (expected, actual) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().find_map(|(key, value)| at(&format!("{place}.{key}"), value, found.get(key)))
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => wanted
            .iter()
            .zip(found)
            .enumerate()
            .find_map(|(index, (wanted, found))| at(&format!("{place}[{index}]"), wanted, Some(found))),
        (Value::Array(wanted), Value::Array(found)) => {
            Some(format!("{place} has {} elements; expected {}", found.len(), wanted.len()))
        }
        _ if expected == actual => None,
        _ => Some(format!("{place} is {}; expected {}", shown(actual), shown(expected))),
    }
}

fn operator(expected: &Value) -> Option<(&str, &Value)> {
    let map = expected.as_object().filter(|map| map.len() == 1)?;
    map.iter().next().filter(|(key, _)| key.starts_with('$')).map(|(key, value)| (&**key, value))
}

fn apply(place: &str, operator: &str, operand: &Value, actual: Option<&Value>) -> Option<String> {
    let list = actual.and_then(Value::as_array);
    match operator {
        "$absent" => actual.map(|value| format!("{place} is {}; expected it to be absent", shown(value))),
        "$contains" => {
            let text = actual.map(text).unwrap_or_default();
            (!text.contains(&self::text(operand)))
                .then(|| format!("{place} does not contain {}: {}", shown(operand), cut(&text)))
        }
        "$len" => {
            let length = list.map(Vec::len);
            (length.map(Value::from).as_ref() != Some(operand))
                .then(|| format!("{place} has length {length:?}; expected {operand}"))
        }
        "$last" => at(&format!("{place}[last]"), operand, list.and_then(|list| list.last())),
        "$any" => (!list.is_some_and(|list| list.iter().any(|item| at(place, operand, Some(item)).is_none())))
            .then(|| format!("no element of {place} matches {}", shown(operand))),
        other => Some(format!("{place}: the script uses an unknown operator {other}")),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => format!("{} {}", kind(value), cut(&value.to_string())),
        _ => cut(&value.to_string()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_subset_matches_and_a_difference_is_named() {
        let request = json!({"model": "m", "messages": [{"role": "user", "content": "say hi"}], "tools": [1, 2]});
        for expected in [
            json!({}),
            json!({"model": "m"}),
            json!({"tools": [1, 2]}),
            json!({"tools": {"$len": 2}, "thinking": {"$absent": true}}),
            json!({"messages": {"$last": {"content": {"$contains": "hi"}}}}),
            json!({"messages": {"$contains": "\"role\":\"user\""}}),
            json!({"tools": {"$any": 2}}),
        ] {
            assert_eq!(difference(&expected, &request), None, "{expected}");
        }
        for (expected, why) in [
            (json!({"model": "x"}), "request.model is \"m\"; expected \"x\""),
            (json!({"nope": 1}), "request.nope is missing; expected 1"),
            (json!({"tools": [1]}), "request.tools has 2 elements; expected 1"),
            (json!({"tools": [1, 3]}), "request.tools[1] is 2; expected 3"),
            (json!({"tools": {"$len": 3}}), "request.tools has length Some(2); expected 3"),
            (json!({"tools": {"$any": 3}}), "no element of request.tools matches 3"),
            (json!({"model": {"$absent": true}}), "request.model is \"m\"; expected it to be absent"),
            (json!({"messages": {"$last": {"content": {"$contains": "bye"}}}}), "does not contain \"bye\": say hi"),
            (json!({"model": {"$regex": "m"}}), "unknown operator $regex"),
        ] {
            let found = difference(&expected, &request).unwrap();
            assert!(found.contains(why), "{expected}: {found}");
        }
    }
}
