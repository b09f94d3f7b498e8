//! Permission updates that a client hands back with its answer.

use crate::control::change_mode;
use crate::shared::Shared;
use policy::{Rule, Source};
use serde_json::Value;
use std::path::PathBuf;
use wire::PermissionMode;

/// Whose rules a client may take back beside the session's own.
const PLACES: [&str; 4] = ["userSettings", "projectSettings", "localSettings", "cliArg"];

/// Applies one update to this session, and stores it where it names a settings file. An update that is
/// not understood changes nothing.
pub async fn apply(shared: &Shared, update: &Value) {
    match update["type"].as_str() {
        Some("setMode") => set_mode(shared, update).await,
        Some("addRules" | "replaceRules" | "removeRules") => rules(shared, update),
        Some("addDirectories") => {
            for folder in directories(shared, update, true) {
                crate::moments::directory_added(shared, &folder, "permission_update").await;
            }
        }
        Some("removeDirectories") => drop(directories(shared, update, false)),
        _ => return,
    }
    if let Some(problem) = settings::store_permission_update(&shared.options.places, update).err() {
        crate::front::warn(&format!("warning: the permission was not stored: {problem}"));
    }
    crate::moments::remember_settings(shared);
}

async fn set_mode(shared: &Shared, update: &Value) {
    let mode = update["mode"].as_str().and_then(PermissionMode::parse);
    let allowed =
        |mode: &PermissionMode| *mode != PermissionMode::BypassPermissions || shared.options.permissions.may_bypass;
    if let Some(mode) = mode.filter(allowed) {
        change_mode(shared, mode).await;
    }
}

fn rules(shared: &Shared, update: &Value) {
    let source = Source { name: "session".into(), anchor: shared.options.cwd.clone() };
    let texts = update["rules"].as_array().into_iter().flatten().filter_map(rule_text);
    let rules: Vec<Rule> = texts.filter_map(|text| policy::parse_rule(&text, &source).ok()).collect();
    let mut live = shared.live.rules.borrow_mut();
    let list = match update["behavior"].as_str() {
        Some("allow") => &mut live.allow,
        Some("deny") => &mut live.deny,
        Some("ask") => &mut live.ask,
        _ => return,
    };
    match update["type"].as_str() {
        Some("replaceRules") => {
            list.retain(|rule| rule.source.name != "session");
            list.extend(rules);
        }
        Some("removeRules") => {
            // From where the client says and from this session; an administrator's rules are nobody else's to take.
            let named = update["destination"].as_str().filter(|place| PLACES.contains(place));
            let is_theirs = |rule: &Rule| rule.source.name == "session" || Some(rule.source.name.as_str()) == named;
            list.retain(|rule| !is_theirs(rule) || !rules.iter().any(|gone| gone.text == rule.text));
        }
        _ => list.extend(rules),
    }
}

fn rule_text(rule: &Value) -> Option<String> {
    let tool = rule["toolName"].as_str()?;
    Some(match rule["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
}

/// Those that are new.
fn directories(shared: &Shared, update: &Value, add: bool) -> Vec<PathBuf> {
    let folders = update["directories"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let folders: Vec<PathBuf> =
        folders.filter_map(|folder| std::fs::canonicalize(shared.options.cwd.join(folder)).ok()).collect();
    let mut roots = shared.live.extra_roots.borrow_mut();
    let new = folders.iter().filter(|folder| add && !roots.contains(folder)).cloned().collect();
    roots.retain(|root| !folders.contains(root));
    if add {
        roots.extend(folders);
    }
    new
}
