use super::*;
use serde_json::json;

#[test]
fn a_definition_is_what_its_parts_are() {
    let schema = json!({"type": "object", "properties": {"a \"quoted\" name": {"type": "string"}}});
    let made = ToolDefinition::new("Read", "Reads\n\"files\".", &schema);
    let expected = json!({"name": "Read", "description": "Reads\n\"files\".", "input_schema": schema});
    assert_eq!((made.text(), made.value()), (expected.to_string().as_str(), &expected));
    assert_eq!(ToolDefinition::from(expected).text(), made.text());
}

#[test]
fn a_mark_stands_at_the_end_and_only_where_it_is_asked_for() {
    let mark = json!({"type": "ephemeral"});
    for (given, expected) in [
        (json!({"name": "A"}), r#"{"name":"A","cache_control":{"type":"ephemeral"}}"#),
        (json!({"cache_control": 1, "name": "A"}), r#"{"name":"A","cache_control":{"type":"ephemeral"}}"#),
        (json!({}), r#"{"cache_control":{"type":"ephemeral"}}"#),
        (json!({"a": {"b": {}}}), r#"{"a":{"b":{}},"cache_control":{"type":"ephemeral"}}"#),
        (json!("odd"), r#""odd""#),
    ] {
        let made = ToolDefinition::from(given);
        assert!(!made.text().contains(CACHE_KEY), "{}", made.text());
        assert_eq!(made.marked(&mark).unwrap().get(), expected);
    }
}

#[test]
fn a_definition_that_is_loaded_later_says_so() {
    assert!(ToolDefinition::from(json!({"name": "A", "defer_loading": true})).is_deferred());
    assert!(!ToolDefinition::from(json!({"name": "A", "defer_loading": "true"})).is_deferred());
}

#[test]
fn a_deferred_definition_says_so_and_nothing_else() {
    let plain = ToolDefinition::new("A", "does", &serde_json::json!({"type": "object"}));
    let deferred = plain.deferred();
    assert!(deferred.is_deferred() && !plain.is_deferred());
    let mut value = plain.value().clone();
    value["defer_loading"] = true.into();
    assert_eq!(deferred.value(), &value);
}
