//! What a layer may say. A repository may deny; it never grants: of a folder the user has not trusted only what is
//! listed here is kept, before any merging, so that no later code can trip over the rest.

use serde_json::{Map, Value};

use crate::folder_env;

type Object = Map<String, Value>;

/// Commands and stores that see credentials. Only the user and the administrator may name them.
const NEVER_FROM_A_FOLDER: [&str; 6] =
    ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "policyHelper"];

/// What an untrusted folder may say, beside `permissions`, `sandbox`, `env` and `skillOverrides`, of which parts are kept.
/// None of these reaches further, costs a guard of the user, starts a program or chooses where requests go. Hooks are
/// kept, since they can refuse: they run without credentials and what they allow does not count (`agent::hooks`).
const KEPT_UNTRUSTED: [&str; 29] = [
    // What only takes away.
    "blockedMarketplaces",
    "deniedMcpServers",
    "disableAutoMode",
    "disableBundledSkills",
    "disableClaudeAiConnectors",
    "disableSideloadFlags",
    "disableSkillShellExecution",
    "disabledMcpjsonServers",
    "hooks",
    // How the model works and writes.
    "agent",
    "alwaysThinkingEnabled",
    "autoCompactEnabled",
    "autoCompactWindow",
    "effortLevel",
    "fallbackModel",
    "language",
    "model",
    "outputStyle",
    // What others read or show.
    "$schema",
    "attribution",
    "companyAnnouncements",
    "includeCoAuthoredBy",
    "prefersReducedMotion",
    "respectGitignore",
    "showTurnDuration",
    "spinnerTipsEnabled",
    "spinnerVerbs",
    "terminalProgressBarEnabled",
    "theme",
];

/// All that an untrusted folder may say about permissions; each only takes away.
const PERMISSIONS_THAT_DENY: [&str; 3] = ["deny", "ask", "disableBypassPermissionsMode"];

/// Removes what this folder may not say; returns the names of what was removed, for one warning.
pub(crate) struct Screened {
    pub(crate) untrusted: Vec<String>,
    pub(crate) never: Vec<String>,
}

pub(crate) fn folder(settings: &mut Object, trusted: bool) -> Screened {
    let mut never = take(settings, &NEVER_FROM_A_FOLDER);
    if take_env(settings, |name, _| name.eq_ignore_ascii_case("CLAUDE_CONFIG_DIR")).is_some() {
        never.push("env.CLAUDE_CONFIG_DIR".to_owned());
    }
    let mut untrusted = Vec::new();
    if !trusted {
        untrusted.extend(take_permissions(settings));
        untrusted.extend(take_unlisted(settings));
        let unlisted = |name: &str, value: &Value| match value {
            Value::String(text) => !folder_env::may_set(name, text),
            Value::Number(_) | Value::Bool(_) => !folder_env::may_set(name, &value.to_string()),
            _ => true,
        };
        untrusted.extend(take_env(settings, unlisted).unwrap_or_default());
        untrusted.extend(take_sandbox(settings));
        untrusted.extend(take_overrides(settings));
    }
    Screened { untrusted, never }
}

/// Everything that no list names: a key of next year is not known to be harmless.
fn take_unlisted(settings: &mut Object) -> Vec<String> {
    let partly = ["permissions", "sandbox", "env", "skillOverrides"];
    let is_kept = |key: &&String| KEPT_UNTRUSTED.contains(&key.as_str()) || partly.contains(&key.as_str());
    let unlisted: Vec<String> = settings.keys().filter(|key| !is_kept(key)).cloned().collect();
    let names: Vec<&str> = unlisted.iter().map(String::as_str).collect();
    take(settings, &names)
}

/// A skill may be switched off; anything else could switch on what the user has off.
fn take_overrides(settings: &mut Object) -> Vec<String> {
    let Some(written) = settings.shift_remove("skillOverrides") else { return Vec::new() };
    let kept: Object = written.as_object().into_iter().flatten().filter(|(_, how)| **how == "off").map(pair).collect();
    let lost = Some(&kept) != written.as_object() && says_something(&written);
    if !kept.is_empty() {
        settings.insert("skillOverrides".to_owned(), Value::Object(kept));
    }
    if lost { vec!["skillOverrides".to_owned()] } else { Vec::new() }
}

fn take(settings: &mut Object, keys: &[&str]) -> Vec<String> {
    let removed = keys.iter().filter_map(|key| settings.shift_remove(*key).map(|value| (*key, value)));
    removed.filter(|(_, value)| says_something(value)).map(|(key, _)| key.to_owned()).collect()
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
    }
}

fn take_permissions(settings: &mut Object) -> Vec<String> {
    let Some(Value::Object(permissions)) = settings.get_mut("permissions") else { return Vec::new() };
    let granting: Vec<String> =
        permissions.keys().filter(|key| !PERMISSIONS_THAT_DENY.contains(&key.as_str())).cloned().collect();
    let names: Vec<&str> = granting.iter().map(String::as_str).collect();
    take(permissions, &names).into_iter().map(|key| format!("permissions.{key}")).collect()
}

/// `None` when nothing was taken out.
fn take_env(settings: &mut Object, refuse: impl Fn(&str, &Value) -> bool) -> Option<Vec<String>> {
    let Some(Value::Object(env)) = settings.get_mut("env") else { return None };
    let refused: Vec<String> =
        env.iter().filter(|(name, value)| refuse(name, value)).map(|(name, _)| name.clone()).collect();
    for name in &refused {
        env.shift_remove(name);
    }
    (!refused.is_empty()).then(|| refused.iter().map(|name| format!("env.{name}")).collect())
}

/// Keeps the parts of `sandbox` that only tighten it. A sandbox that is switched on would allow every command without
/// a question (`autoAllowBashIfSandboxed` is true unless somebody says otherwise), so with it goes that permission.
fn take_sandbox(settings: &mut Object) -> Vec<String> {
    let Some(sandbox) = settings.shift_remove("sandbox") else { return Vec::new() };
    let kept = tightening(&sandbox);
    let lost = kept.as_ref() != sandbox.as_object() && says_something(&sandbox);
    if let Some(mut kept) = kept.filter(|kept| !kept.is_empty()) {
        if kept.contains_key("enabled") {
            kept.insert("autoAllowBashIfSandboxed".to_owned(), Value::Bool(false));
        }
        settings.insert("sandbox".to_owned(), Value::Object(kept));
    }
    if lost { vec!["sandbox".to_owned()] } else { Vec::new() }
}

fn tightening(sandbox: &Value) -> Option<Object> {
    let object = sandbox.as_object()?;
    let mut kept = Object::new();
    for (key, value) in object {
        let value = match (key.as_str(), value) {
            ("enabled" | "failIfUnavailable", Value::Bool(true))
            | ("allowUnsandboxedCommands" | "autoAllowBashIfSandboxed", Value::Bool(false)) => value.clone(),
            ("filesystem", Value::Object(rules)) => only(rules, &["denyRead", "denyWrite"]),
            ("network", Value::Object(rules)) => only(rules, &["deniedDomains"]),
            _ => continue,
        };
        kept.insert(key.clone(), value);
    }
    Some(kept)
}

fn only(object: &Object, keys: &[&str]) -> Value {
    Value::Object(object.iter().filter(|(key, _)| keys.contains(&key.as_str())).map(pair).collect())
}

fn pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// Keys that `--managed-settings` may carry: the parent process may tighten, not loosen.
const RESTRICTIVE: [&str; 13] = [
    "availableModels",
    "enforceAvailableModels",
    "disableAutoMode",
    "allowManagedHooksOnly",
    "allowManagedPermissionRulesOnly",
    "allowManagedMcpServersOnly",
    "deniedMcpServers",
    "disabledMcpjsonServers",
    "disableBundledSkills",
    "disableSkillShellExecution",
    "disableSideloadFlags",
    "disableClaudeAiConnectors",
    "strictPluginOnlyCustomization",
];

pub(crate) fn only_restrictive(settings: &mut Object) {
    let sandbox = settings.get("sandbox").and_then(tightening);
    let permissions = settings.get("permissions").cloned();
    settings.retain(|key, _| RESTRICTIVE.contains(&key.as_str()));
    if let Some(sandbox) = sandbox {
        settings.insert("sandbox".to_owned(), Value::Object(sandbox));
    }
    match permissions {
        Some(Value::Object(rules)) => {
            settings.insert("permissions".to_owned(), only(&rules, &PERMISSIONS_THAT_DENY));
        }
        // A wrong type is kept so that reading it as policy fails instead of passing unnoticed.
        Some(other) => {
            settings.insert("permissions".to_owned(), other);
        }
        None => {}
    }
}

/// `--safe-mode`: sign-in, permissions, model and limits stay; everything that customises or runs goes.
const SAFE: [&str; 17] = [
    "permissions",
    "dangerouslySkipPermissions",
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "model",
    "fallbackModel",
    "availableModels",
    "enforceAvailableModels",
    "modelOverrides",
    "endpointProfile",
    "effortLevel",
    "alwaysThinkingEnabled",
    "autoCompactEnabled",
    "cleanupPeriodDays",
    "sandbox",
];

pub(crate) fn safe_mode(settings: &mut Object, from_folder: bool) {
    settings.retain(|key, _| SAFE.contains(&key.as_str()) || (key == "env" && !from_folder));
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
