//! A tool's input schema as the API takes it: an object at the root, without combinators there. Pure.
//!
//! Flattening only widens: everything the original accepts, the flat one accepts too. The server still
//! checks its own schema.

use serde_json::{Map, Value, json};

/// Combinators in combinators; deeper ones are left out, which again only widens.
const DEPTH_MAX: usize = 8;

const COMBINATORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The schema to send; anything that is not one becomes "an object".
pub(crate) fn flattened(schema: Option<&Value>) -> Value {
    let Some(Value::Object(given)) = schema else { return json!({"type": "object", "properties": {}}) };
    let mut root = given.clone();
    described_visibly(&mut root, 0);
    if COMBINATORS.iter().any(|word| root.contains_key(*word)) {
        let shape = shape(given, given, 0);
        for word in COMBINATORS {
            root.remove(word);
        }
        // What one branch forbids another may allow.
        root.remove("additionalProperties");
        root.remove("unevaluatedProperties");
        root.insert("properties".into(), Value::Object(shape.properties));
        if shape.required.is_empty() {
            root.remove("required");
        } else {
            root.insert("required".into(), shape.required.into());
        }
    }
    root.insert("type".into(), "object".into());
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".into(), json!({}));
    }
    Value::Object(root)
}

/// Schemas in schemas; what is deeper is left as it is and seen by nobody but the server.
const DESCRIBED_DEPTH_MAX: usize = 16;

/// Descriptions are read by people and models alike: neither may see more than the other.
fn described_visibly(schema: &mut Map<String, Value>, depth: usize) {
    for (key, value) in schema.iter_mut() {
        match value {
            Value::String(text) if matches!(key.as_str(), "description" | "title") => {
                *text = wire::visible(text).into_owned();
            }
            Value::Object(inner) if depth < DESCRIBED_DEPTH_MAX => described_visibly(inner, depth + 1),
            Value::Array(items) if depth < DESCRIBED_DEPTH_MAX => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|item| described_visibly(item, depth + 1));
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct Shape {
    properties: Map<String, Value>,
    required: Vec<String>,
}

fn shape(schema: &Map<String, Value>, root: &Map<String, Value>, depth: usize) -> Shape {
    let mut shape = Shape {
        properties: schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default(),
        required: names(schema.get("required")),
    };
    if depth == DEPTH_MAX {
        return shape;
    }
    for word in COMBINATORS {
        let branches: Vec<Shape> = branches(schema, word)
            .map(|branch| {
                resolved(branch, root).map_or_else(Shape::default, |branch| self::shape(branch, root, depth + 1))
            })
            .collect();
        let demanded = if word == "allOf" { in_any(&branches) } else { in_all(&branches) };
        for name in demanded {
            if !shape.required.contains(&name) {
                shape.required.push(name);
            }
        }
        for (name, property) in branches.into_iter().flat_map(|branch| branch.properties) {
            merge(&mut shape.properties, name, property);
        }
    }
    shape
}

fn branches<'a>(schema: &'a Map<String, Value>, word: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(word).and_then(Value::as_array).into_iter().flatten()
}

/// A branch is often a reference into the definitions of the same schema.
fn resolved<'a>(branch: &'a Value, root: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
    let branch = branch.as_object()?;
    let Some(path) = branch.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/")) else {
        return Some(branch);
    };
    let mut steps = path.split('/');
    let first = root.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step)).and_then(Value::as_object)
}

fn names(required: Option<&Value>) -> Vec<String> {
    let list = required.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn in_any(branches: &[Shape]) -> Vec<String> {
    branches.iter().flat_map(|branch| branch.required.clone()).collect()
}

fn in_all(branches: &[Shape]) -> Vec<String> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    let everywhere = |name: &&String| others.iter().all(|branch| branch.required.contains(name));
    first.required.iter().filter(everywhere).cloned().collect()
}

/// Two branches may describe one property differently: either description will do.
fn merge(properties: &mut Map<String, Value>, name: String, property: Value) {
    match properties.get_mut(&name) {
        None => {
            properties.insert(name, property);
        }
        Some(known) if *known == property => {}
        Some(known) => match known.get_mut("anyOf").and_then(Value::as_array_mut) {
            Some(either) if !either.contains(&property) => either.push(property),
            Some(_) => {}
            None => *known = json!({"anyOf": [known.clone(), property]}),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_becomes_a_plain_object() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
        let empty = json!({"type": "object", "properties": {}});
        for (given, expected) in [
            (json!(null), empty.clone()),
            (json!("x"), empty.clone()),
            (json!({}), empty.clone()),
            (json!({"type": ["object", "null"], "properties": []}), empty),
            (
                json!({"type": "object", "properties": {"a": text}, "required": ["a"], "additionalProperties": false, "x": 1}),
                json!({"type": "object", "properties": {"a": text}, "required": ["a"], "additionalProperties": false, "x": 1}),
            ),
            (
                json!({"anyOf": [
                    {"properties": {"a": text, "k": text}, "required": ["a", "k"]},
                    {"properties": {"b": text, "k": number}, "required": ["b", "k"]}]}),
                json!({"properties": {"a": text, "k": {"anyOf": [text, number]}, "b": text}, "required": ["k"], "type": "object"}),
            ),
            (
                json!({"type": "object", "additionalProperties": false, "properties": {"z": text}, "required": ["z"],
                    "allOf": [{"properties": {"a": text}, "required": ["a"]}, {"properties": {"b": text}, "required": ["b"]}]}),
                json!({"type": "object", "properties": {"z": text, "a": text, "b": text}, "required": ["z", "a", "b"]}),
            ),
            (
                json!({"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/nowhere"}, true], "$defs": {"A": {"properties": {"a": text}, "required": ["a"]}}}),
                json!({"$defs": {"A": {"properties": {"a": text}, "required": ["a"]}}, "properties": {"a": text}, "type": "object"}),
            ),
        ] {
            assert_eq!(flattened(Some(&given)), expected, "{given}");
        }
        assert_eq!(flattened(None), json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let looped = json!({"anyOf": [{"$ref": "#/$defs/L"}], "$defs": {"L": {"properties": {"a": {}}, "anyOf": [{"$ref": "#/$defs/L"}]}}});
        assert_eq!(flattened(Some(&looped))["properties"], json!({"a": {}}));
    }

    #[test]
    fn nothing_stays_at_the_root_that_the_api_refuses() {
        for word in COMBINATORS {
            for given in [json!({word: []}), json!({word: 5}), json!({word: [{word: [{"properties": {"x": {}}}]}]})] {
                let flat = flattened(Some(&given));
                assert!(flat.get(word).is_none(), "{given}");
                assert_eq!(flat["type"], "object", "{given}");
            }
        }
    }
}
