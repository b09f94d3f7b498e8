//! The comparison of output with expectations. Differences are named by their place.

use serde_json::Value;

/// The key is there, whatever its value.
const ANY: &str = "<any>";

/// There is a text, whatever it says.
const TEXT: &str = "<text>";

/// Differences are shown with at most this much of a value.
const SHOWN_CHARS: usize = 160;

/// Where `actual` lacks what `expected` asks for; empty if it matches.
///
/// Objects match by the keys expected, lists by length and element.
pub fn differences(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, actual, &mut found);
    found
}

fn compare(place: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::String(mark), _) if mark == ANY => {}
        (Value::String(mark), _) if mark == TEXT => {
            if !has_text(actual) {
                found.push(format!("{place}: expected some text, got {}", shown(actual)));
            }
        }
        (Value::Object(wanted), Value::Object(map)) => {
            for (key, value) in wanted {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                match map.get(key) {
                    Some(actual) => compare(&place, value, actual, found),
                    None => found.push(format!("{place}: missing, expected {}", shown(value))),
                }
            }
        }
        (Value::Array(wanted), Value::Array(items)) if wanted.len() == items.len() => {
            for (index, (wanted, item)) in wanted.iter().zip(items).enumerate() {
                compare(&format!("{place}[{index}]"), wanted, item, found);
            }
        }
        (Value::Array(wanted), Value::Array(items)) => found.push(format!(
            "{place}: expected {} elements {}, got {} {}",
            wanted.len(),
            shown(expected),
            items.len(),
            shown(actual)
        )),
        (Value::Number(wanted), Value::Number(number)) if wanted.as_f64() == number.as_f64() => {}
        _ if expected == actual => {}
        _ => found.push(format!("{place}: expected {}, got {}", shown(expected), shown(actual))),
    }
}

fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(map) => map.values().any(has_text),
        _ => false,
    }
}

/// Replaces placeholders such as `$WD` in every text.
#[must_use]
pub fn substitute(value: &Value, names: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => Value::String(substitute_text(text, names)),
        Value::Array(items) => items.iter().map(|item| substitute(item, names)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), substitute(item, names))).collect(),
        _ => value.clone(),
    }
}

pub(crate) fn substitute_text(text: &str, names: &[(&str, &str)]) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_match_is_by_keys_elements_and_marks() {
        let actual = json!({"type": "user", "n": 1, "list": [{"a": 1, "b": 2}], "t": [{"text": "hi"}], "z": null});
        for expected in [
            json!({}),
            json!({"type": "user", "n": 1.0, "z": null}),
            json!({"list": [{"a": 1}], "n": "<any>", "z": "<any>", "t": "<text>"}),
            json!({"type": "<text>"}),
        ] {
            assert_eq!(differences(&expected, &actual), Vec::<String>::new(), "{expected}");
        }
        for (expected, difference) in [
            (json!({"type": "x"}), "type: expected \"x\", got \"user\""),
            (json!({"gone": null}), "gone: missing, expected null"),
            (json!({"gone": "<any>"}), "gone: missing"),
            (json!({"n": "<text>"}), "n: expected some text, got 1"),
            (json!({"list": []}), "list: expected 0 elements [], got 1"),
            (json!({"list": [{"a": 2}]}), "list[0].a: expected 2, got 1"),
            (json!({"z": false}), "z: expected false, got null"),
            (json!([]), ": expected [], got {"),
        ] {
            let found = differences(&expected, &actual);
            assert!(found.len() == 1 && found[0].starts_with(difference), "{expected}: {found:?}");
        }
    }

    #[test]
    fn placeholders_are_replaced() {
        let value = json!({"cwd": "$WD", "list": ["$WD/a", 1], "home": "$HOME"});
        let replaced = substitute(&value, &[("$WD", "/w"), ("$HOME", "/h")]);
        assert_eq!(replaced, json!({"cwd": "/w", "list": ["/w/a", 1], "home": "/h"}));
    }
}
