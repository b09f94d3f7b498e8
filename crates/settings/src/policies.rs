//! Policies of the administrator that stop a start or take a kind of customisation away, and settings that have no
//! effect here. A policy that cannot be enforced stops the start: silence would be a lie to whoever wrote it.
//!
//! Deliberately absent: lists that are enforced where they are used (models, servers, marketplaces, hooks).

use serde_json::Value;

use crate::Found;
use crate::surfaces::{PLUGIN_ONLY, SURFACES, is_on};

/// What a start is like, as far as policies ask.
pub struct Start<'a> {
    /// The version that the agent says it is.
    pub version: &'a str,
    /// Flags of the command line that bring plugins, agents or servers.
    pub sideloading: &'a [&'a str],
    /// The credential for the API; `None` where a cloud's own credentials are used, or none was found.
    pub credential: Option<&'a Found>,
    pub is_first_party: bool,
}

/// Why the administrator's policies do not let this start happen.
pub fn refusal(managed: &Value, start: &Start<'_>) -> Option<String> {
    unenforceable(managed, start)
        .or_else(|| version_refusal(managed, start.version))
        .or_else(|| sideload_refusal(managed, start.sideloading))
        .or_else(|| login_refusal(managed, start))
}

fn unenforceable(managed: &Value, start: &Start<'_>) -> Option<String> {
    let of_admin = "the administrator's settings";
    for key in ["policyHelper", "policyHelpers", "forceRemoteSettingsRefresh"] {
        if is_on(managed.get(key)) {
            return Some(format!(
                "{of_admin} have '{key}', which this agent cannot do. Write the policies into the file."
            ));
        }
    }
    if is_on(managed.get("forceLoginOrgUUID")) && start.is_first_party {
        return Some(format!(
            "{of_admin} have 'forceLoginOrgUUID', and this agent cannot check which organisation a credential is of."
        ));
    }
    let unknown = match managed.get(PLUGIN_ONLY) {
        Some(Value::Array(listed)) => {
            let is_known = |one: &&Value| SURFACES.iter().any(|surface| **one == surface.name());
            listed.iter().find(|one| !is_known(one)).map(ToString::to_string)
        }
        _ => None,
    };
    unknown.map(|name| format!("{of_admin}: '{PLUGIN_ONLY}' lists {name}; known are skills, agents, hooks and mcp."))
}

fn version_refusal(managed: &Value, own: &str) -> Option<String> {
    for (key, wrong) in
        [("requiredMinimumVersion", std::cmp::Ordering::Less), ("requiredMaximumVersion", std::cmp::Ordering::Greater)]
    {
        let Some(wanted) = managed.get(key).filter(|wanted| !wanted.is_null()) else { continue };
        let Some(numbers) = wanted.as_str().and_then(numbers) else {
            return Some(format!(
                "the administrator's settings: '{key}' is {wanted}, which is no version such as \"2.1.0\"."
            ));
        };
        if self::numbers(own).is_none_or(|own| own.cmp(&numbers) == wrong) {
            let bound = if key == "requiredMinimumVersion" { "at least" } else { "at most" };
            return Some(format!(
                "the administrator requires version {bound} {} ({key}); this agent is {own}.",
                wanted.as_str()?
            ));
        }
    }
    None
}

/// The three numbers of a version; what follows a dash or a plus does not count.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let plain = version.trim().split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?];
    parts.next().is_none().then_some(numbers)
}

fn sideload_refusal(managed: &Value, flags: &[&str]) -> Option<String> {
    let first = flags.first().filter(|_| is_on(managed.get("disableSideloadFlags")))?;
    Some(format!("--{first} is switched off by the administrator (disableSideloadFlags)."))
}

fn login_refusal(managed: &Value, start: &Start<'_>) -> Option<String> {
    let wanted = managed.get("forceLoginMethod").filter(|wanted| is_on(Some(wanted)))?;
    let found = start.credential.filter(|_| start.is_first_party)?;
    let is_login = matches!(found, Found::OAuthToken(_) | Found::OAuthFile(_));
    let fits = match wanted.as_str() {
        Some("claudeai") => is_login,
        Some("console") => matches!(found, Found::ApiKey(_) | Found::ApiKeyFile(_) | Found::Helper { .. }),
        _ => false,
    };
    (!fits).then(|| format!("the administrator requires another login (forceLoginMethod: {wanted}); 'ralph auth status' says which one is used."))
}

/// Settings that people can rely on elsewhere and that do nothing here.
const WITHOUT_EFFECT: [&str; 13] = [
    "advisorModel",
    "autoMode",
    "enableWorkflows",
    "fastMode",
    "minimumVersion",
    "plansDirectory",
    "pluginConfigs",
    "processWrapper",
    "skillListingBudgetFraction",
    "skillListingMaxDescChars",
    "switchModelsOnFlag",
    "useAutoModeDuringPlan",
    "worktree",
];

/// One line about settings that have no effect here; nothing where there is none.
pub fn without_effect(merged: &Value) -> Option<String> {
    let says_something = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::String(text) => !text.is_empty(),
        other => is_on(Some(other)),
    };
    let mut names: Vec<&str> =
        WITHOUT_EFFECT.into_iter().filter(|key| merged.get(key).is_some_and(says_something)).collect();
    if merged.get("defaultShell").and_then(Value::as_str).is_some_and(|shell| shell != "bash") {
        names.push("defaultShell");
    }
    (!names.is_empty()).then(|| format!("warning: settings without effect in this agent: {}", names.join(", ")))
}

#[cfg(test)]
#[path = "policies_tests.rs"]
mod tests;
