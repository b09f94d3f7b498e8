//! Checking what the model sent against a tool's schema, before anything else looks at it.
//!
//! Understands the part of JSON Schema that our schemas use. Unknown fields are errors; numbers,
//! booleans and lists that came as text are taken for what they say, because models do that.

use crate::workspace::PathError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why an input cannot be used, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("InputValidationError: {tool} was not run because its input is wrong:\n{}", .problems.join("\n"))]
    Schema { tool: String, problems: Vec<String> },
    #[error("InputValidationError: {tool} needs `{field}`, a string")]
    Missing { tool: &'static str, field: &'static str },
    #[error("InputValidationError: {tool} cannot use this input: {reason}")]
    Fields { tool: &'static str, reason: String },
    #[error("{tool}: {cause}")]
    Path { tool: &'static str, cause: PathError },
    /// What only the tool itself can tell.
    #[error("{0}")]
    Tool(String),
    #[error("The schema of {tool} is not JSON: {reason}")]
    BrokenSchema { tool: String, reason: String },
}

/// Checks `input` against the text of a schema and returns it with slips repaired.
pub(crate) fn check_against(tool: &str, schema: &str, input: Value) -> Result<Value, InputError> {
    let schema = serde_json::from_str(schema)
        .map_err(|error| InputError::BrokenSchema { tool: tool.to_owned(), reason: error.to_string() })?;
    check_value(tool, &schema, input)
}

/// The same for a schema that is parsed already.
pub(crate) fn check_value(tool: &str, schema: &Value, mut input: Value) -> Result<Value, InputError> {
    if input.is_null() {
        input = Value::Object(Map::new());
    }
    let mut problems = Vec::new();
    check("", schema, &mut input, &mut problems);
    if problems.is_empty() { Ok(input) } else { Err(InputError::Schema { tool: tool.to_owned(), problems }) }
}

/// The checked input as the tool's own struct.
pub(crate) fn parse<T: DeserializeOwned>(tool: &'static str, input: &Value) -> Result<T, InputError> {
    T::deserialize(input).map_err(|error| InputError::Fields { tool, reason: error.to_string() })
}

/// Keywords that [`check`] understands, and two that restrict nothing: `description` is for the model, and `default` is
/// what [`crate::Tool::adapt`] fills in.
const KEYWORDS: [&str; 11] = [
    "type",
    "description",
    "default",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "enum",
    "minimum",
];

/// Keywords of a schema that would not be checked, and types that do not exist.
pub(crate) fn unknown_keywords(schema: &Value) -> Vec<String> {
    let Value::Object(fields) = schema else { return vec![format!("{schema} is not a schema")] };
    let mut unknown: Vec<String> = fields.keys().filter(|key| !KEYWORDS.contains(&key.as_str())).cloned().collect();
    let kind = fields.get("type").and_then(Value::as_str);
    if kind.is_none_or(|kind| article(kind) == kind) {
        unknown.push(format!("type {kind:?}"));
    }
    if fields.get("additionalProperties").is_some_and(|more| !more.is_boolean()) {
        unknown.push("additionalProperties that is a schema".to_owned());
    }
    let inner = fields.get("properties").and_then(Value::as_object).into_iter().flat_map(|known| known.values());
    unknown.extend(inner.chain(fields.get("items")).flat_map(unknown_keywords));
    unknown
}

fn check(at: &str, schema: &Value, value: &mut Value, problems: &mut Vec<String>) {
    let Some(expected) = schema.get("type").and_then(Value::as_str) else { return };
    repair(expected, value);
    if !is_a(expected, value) {
        problems.push(format!("- {} must be {}, not {}", name(at), article(expected), kind(value)));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let list: Vec<String> = allowed.iter().map(Value::to_string).collect();
        problems.push(format!("- {} must be one of {}, not {value}", name(at), list.join(", ")));
    }
    if let (Some(minimum), Some(number)) = (schema.get("minimum").and_then(Value::as_f64), value.as_f64())
        && number < minimum
    {
        problems.push(format!("- {} must be at least {minimum}, not {number}", name(at)));
    }
    match value {
        Value::Object(fields) => check_fields(at, schema, fields, problems),
        Value::Array(items) => {
            let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
            let count = items.len() as u64;
            if let Some(least) = bound("minItems").filter(|least| count < *least) {
                problems.push(format!("- {} must have at least {least} items, not {count}", name(at)));
            }
            if let Some(most) = bound("maxItems").filter(|most| count > *most) {
                problems.push(format!("- {} must have at most {most} items, not {count}", name(at)));
            }
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                check(&format!("{at}[{index}]"), schema, item, problems);
            }
        }
        _ => {}
    }
}

fn check_fields(at: &str, schema: &Value, fields: &mut Map<String, Value>, problems: &mut Vec<String>) {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    // An optional field sent as null was meant to be left out.
    fields.retain(|field, value| !value.is_null() || required.contains(&field.as_str()) || !known.contains_key(field));
    for field in &required {
        if !fields.contains_key(*field) {
            let expected = known.get(*field).and_then(|schema| schema.get("type")).and_then(Value::as_str);
            problems.push(format!("- {} is missing ({})", name(&path(at, field)), expected.unwrap_or("any value")));
        }
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (field, value) in fields.iter_mut() {
        match known.get(field) {
            Some(schema) => check(&path(at, field), schema, value, problems),
            None if closed => {
                let list: Vec<&str> = known.keys().map(String::as_str).collect();
                let field = path(at, field);
                problems.push(format!("- {} is not a field of it; there are: {}", name(&field), list.join(", ")));
            }
            None => {}
        }
    }
}

fn repair(expected: &str, value: &mut Value) {
    let repaired = match (expected, &*value) {
        ("boolean", Value::String(text)) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("number" | "integer" | "array", Value::String(text)) => {
            serde_json::from_str(text.trim()).ok().filter(|parsed| is_a(expected, parsed))
        }
        ("integer", Value::Number(number)) => {
            let whole = number.as_f64().filter(|n| number.is_f64() && n.fract() == 0.0 && n.abs() < 9e15);
            whole.map(|n| Value::from(n as i64))
        }
        _ => None,
    };
    if let Some(repaired) = repaired {
        *value = repaired;
    }
}

fn is_a(expected: &str, value: &Value) -> bool {
    match expected {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn article(expected: &str) -> &str {
    match expected {
        "string" => "a string",
        "number" => "a number",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

fn path(at: &str, field: &str) -> String {
    if at.is_empty() { field.to_owned() } else { format!("{at}.{field}") }
}

fn name(at: &str) -> String {
    if at.is_empty() { "the input".to_owned() } else { format!("`{at}`") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SCHEMA: &str = r#"{"type":"object","additionalProperties":false,"required":["path"],"properties":{
        "path":{"type":"string"},"n":{"type":"integer","minimum":0},"all":{"type":"boolean"},
        "mode":{"type":"string","enum":["a","b"]},
        "list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}}}}"#;

    #[test]
    fn good_inputs_pass_and_slips_are_repaired() {
        for (input, checked) in [
            (json!({"path":"p"}), json!({"path":"p"})),
            (json!({"path":"p","n":"5","all":"true"}), json!({"path":"p","n":5,"all":true})),
            (json!({"path":"p","n":2.0}), json!({"path":"p","n":2})),
            (json!({"path":"p","mode":null}), json!({"path":"p"})),
            (json!({"path":"p","list":"[{\"x\":\"y\"}]"}), json!({"path":"p","list":[{"x":"y"}]})),
        ] {
            assert_eq!(check_against("T", SCHEMA, input.clone()), Ok(checked), "{input}");
        }
    }

    #[test]
    fn keywords_that_nobody_checks_are_found() {
        for (schema, unknown) in [
            (json!({"type": "object", "properties": {"a": {"type": "string", "description": "d"}}}), vec![]),
            (json!({"type": "string", "maxLength": 5}), vec!["maxLength"]),
            (json!({"type": "array", "items": {"type": "object", "oneOf": []}}), vec!["oneOf"]),
            (json!({"type": "object", "properties": {"a": {"type": "strnig"}}}), vec!["type Some(\"strnig\")"]),
            (json!({"description": "no type"}), vec!["type None"]),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                vec!["additionalProperties that is a schema"],
            ),
        ] {
            assert_eq!(unknown_keywords(&schema), unknown, "{schema}");
        }
    }

    #[test]
    fn bad_inputs_name_tool_field_and_type() {
        for (input, wanted) in [
            (json!(null), "`path` is missing (string)"),
            (json!({}), "`path` is missing (string)"),
            (json!([]), "the input must be an object, not a list"),
            (json!({"path":5}), "`path` must be a string, not a number"),
            (json!({"path":null}), "`path` must be a string, not null"),
            (json!({"path":"p","nope":1}), "`nope` is not a field of it; there are: path, n, all, mode, list"),
            (json!({"path":"p","nope":null}), "`nope` is not a field"),
            (json!({"path":"p","list":[]}), "`list` must have at least 1 items, not 0"),
            (json!({"path":"p","list":[{"x":""},{"x":""},{"x":""}]}), "`list` must have at most 2 items, not 3"),
            (json!({"path":"p","n":-1}), "`n` must be at least 0, not -1"),
            (json!({"path":"p","n":"many"}), "`n` must be a whole number, not a string"),
            (json!({"path":"p","n":1.5}), "`n` must be a whole number, not a number"),
            (json!({"path":"p","all":"yes"}), "`all` must be true or false, not a string"),
            (json!({"path":"p","mode":"c"}), r#"`mode` must be one of "a", "b", not "c""#),
            (json!({"path":"p","list":[{"x":1}]}), "`list[0].x` must be a string"),
            (json!({"path":"p","list":[{}]}), "`list[0].x` is missing"),
        ] {
            let Err(error) = check_against("T", SCHEMA, input.clone()) else { panic!("{input} passed") };
            let text = error.to_string();
            assert!(text.starts_with("InputValidationError: T ") && text.contains(wanted), "{text}");
        }
    }
}
