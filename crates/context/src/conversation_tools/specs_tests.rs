use super::*;
use std::collections::HashSet;

/// As for the built-in tools: what nobody checks must not stand in a schema.
#[test]
fn no_schema_has_a_keyword_that_nobody_checks() {
    let mut names = HashSet::new();
    for spec in specs() {
        assert!(names.insert(spec.name.clone()), "{} stands twice", spec.name);
        assert_eq!(spec.unknown_keywords(), Vec::<String>::new(), "{}", spec.name);
        assert_eq!(serde_json::to_string(&spec.schema).unwrap(), spec.schema.to_value().to_string(), "{}", spec.name);
    }
    assert!(names.contains("Agent") && names.contains("TaskCreate"), "{names:?}");
}
