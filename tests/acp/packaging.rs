//! The entry for the protocol's registry.

use serde_json::Value;

#[test]
fn the_registry_entry_is_whole() {
    let entry: Value = serde_json::from_str(include_str!("../../packaging/agent.json")).unwrap();
    let id = entry["id"].as_str().unwrap();
    assert!(id.starts_with(|letter: char| letter.is_ascii_lowercase()));
    assert!(id.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'));
    for key in ["name", "version", "description"] {
        assert!(entry[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    assert_eq!(entry["version"], env!("CARGO_PKG_VERSION"));
    for (platform, one) in entry["distribution"]["binary"].as_object().unwrap() {
        assert_eq!(one["args"], serde_json::json!(["acp"]), "{platform}");
        assert!(one["archive"].is_string() && one["cmd"].is_string(), "{platform}");
    }
    let icon = include_str!("../../packaging/icon.svg");
    assert!(icon.starts_with("<svg") && icon.contains("currentColor") && icon.contains(r#"viewBox="0 0 16 16""#));
}
