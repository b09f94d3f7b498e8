//! Permissions that a client wants kept: written into the settings file that the update names.

use crate::files::{self, FileLock};
use crate::{Places, SettingsError};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Another process may be storing its own; nobody holds the lock for long.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Stores an update. One for the session only, and one that no file has a place for, is not stored.
pub fn store_permission_update(places: &Places, update: &Value) -> Result<(), SettingsError> {
    let Some(file) = destination(places, update) else { return Ok(()) };
    let _lock = FileLock::acquire(&file, LOCK_PATIENCE)?;
    let mut settings = files::read_object(&file)?;
    apply(&mut settings, update);
    files::write_object(&file, &settings)
}

/// What a settings file denies and asks for, read now. A lone text counts as a list of one; a file that cannot be
/// read restricts nothing.
pub fn restrictions(file: &Path) -> (Vec<String>, Vec<String>) {
    let settings = files::read_object(file).unwrap_or_default();
    let list = |key: &str| match settings.get("permissions").map(|permissions| &permissions[key]) {
        Some(Value::Array(rules)) => rules.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(rule)) => vec![rule.clone()],
        _ => Vec::new(),
    };
    (list("deny"), list("ask"))
}

fn destination(places: &Places, update: &Value) -> Option<PathBuf> {
    match update["destination"].as_str()? {
        "userSettings" => Some(places.user_settings()),
        "projectSettings" => Some(places.project_settings()),
        "localSettings" => Some(places.local_settings()),
        _ => None,
    }
}

fn apply(settings: &mut Map<String, Value>, update: &Value) {
    let permissions = settings.entry("permissions").or_insert_with(|| json!({}));
    let Some(permissions) = permissions.as_object_mut() else { return };
    match update["type"].as_str() {
        Some("setMode") => {
            permissions.insert("defaultMode".into(), update["mode"].clone());
        }
        Some(kind @ ("addRules" | "replaceRules" | "removeRules")) => {
            let Some(list) = update["behavior"].as_str().filter(|name| ["allow", "deny", "ask"].contains(name)) else {
                return;
            };
            let rules = update["rules"].as_array().into_iter().flatten().filter_map(rule_text).collect();
            change_list(permissions, list, kind, rules);
        }
        Some(kind @ ("addDirectories" | "removeDirectories")) => {
            let folders = update["directories"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            change_list(permissions, "additionalDirectories", kind, folders);
        }
        _ => {}
    }
}

fn rule_text(rule: &Value) -> Option<String> {
    let tool = rule["toolName"].as_str()?;
    Some(rule["ruleContent"].as_str().map_or_else(|| tool.to_owned(), |content| format!("{tool}({content})")))
}

fn change_list(permissions: &mut Map<String, Value>, list: &str, kind: &str, items: Vec<String>) {
    let list = permissions.entry(list).or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    if kind.starts_with("replace") {
        list.clear();
    }
    list.retain(|known| !items.iter().any(|item| known == item));
    if !kind.starts_with("remove") {
        list.extend(items.into_iter().map(Value::String));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_shrink_and_are_replaced() {
        let mut settings = json!({"permissions": {"allow": ["Read"]}, "keep": 1});
        let map = settings.as_object_mut().unwrap();
        let update = |kind: &str, rule: &str| json!({"type": kind, "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": rule}]});
        apply(map, &update("addRules", "ls:*"));
        apply(map, &update("addRules", "ls:*"));
        assert_eq!(map["permissions"]["allow"], json!(["Read", "Bash(ls:*)"]));
        apply(map, &update("removeRules", "ls:*"));
        assert_eq!(map["permissions"]["allow"], json!(["Read"]));
        apply(map, &update("replaceRules", "git:*"));
        assert_eq!(map["permissions"]["allow"], json!(["Bash(git:*)"]));
        assert_eq!(map["keep"], json!(1));
    }

    #[test]
    fn the_session_has_no_file() {
        let places = Places::new("/nowhere".into(), None, None);
        assert!(destination(&places, &json!({"destination": "session"})).is_none());
    }
}
