//! Hooks that a plugin, an agent or a skill brings. The settings that limit hooks limit these too.
//!
//! Deliberately absent: whether a folder may bring hooks at all. `config` takes them out of the documents of a folder
//! that is not trusted.

use crate::Hooks;
use project::{AgentDef, Plugin, Skill};
use serde_json::Value;

/// Which conversation the hooks are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Session,
    /// In a sub-agent's hooks, `Stop` means the sub-agent's end, so it is registered as `SubagentStop`.
    Subagent,
}

/// Hooks, and what of them cannot be used.
pub type Found = (Hooks, Vec<String>);

/// The settings permit only the hooks of settings, or none.
fn are_off(settings: &Value) -> bool {
    settings["allowManagedHooksOnly"] == true || settings["disableAllHooks"] == true
}

/// Takes out the web addresses that the settings do not permit; what was taken out.
pub fn restrict(settings: &Value, hooks: &mut Hooks) -> Vec<String> {
    let list = |key: &str| -> Option<Vec<String>> { serde_json::from_value(settings[key].clone()).ok() };
    let (urls, variables) = (list("allowedHttpHookUrls"), list("httpHookAllowedEnvVars"));
    hooks.restrict_http(urls.as_deref(), variables.as_deref())
}

fn usable(settings: &Value, read: impl FnOnce() -> Found) -> Found {
    if are_off(settings) {
        return Found::default();
    }
    let (mut hooks, mut problems) = read();
    problems.extend(restrict(settings, &mut hooks));
    (hooks, problems)
}

pub fn of_plugin(settings: &Value, plugin: &Plugin) -> Found {
    usable(settings, || {
        let (mut hooks, mut problems) = (Hooks::default(), Vec::new());
        for value in &plugin.hooks {
            let (more, wrong) = Hooks::from_settings(value, &format!("plugin {}", plugin.name));
            hooks.add(more.of_plugin(&plugin.folders.root, &plugin.folders.data));
            problems.extend(wrong);
        }
        (hooks, problems)
    })
}

pub fn of_agent(settings: &Value, agent: &AgentDef, scope: Scope) -> Found {
    let Some(written) = &agent.hooks else { return Found::default() };
    usable(settings, || Hooks::from_settings(&scoped(written, scope), &format!("agent {}", agent.name)))
}

pub fn of_skill(settings: &Value, skill: &Skill, scope: Scope) -> Found {
    let Some(written) = &skill.hooks else { return Found::default() };
    usable(settings, || {
        let (hooks, problems) = Hooks::from_skill(&scoped(written, scope), &format!("skill {}", skill.name));
        match &skill.plugin {
            Some(plugin) => (hooks.of_plugin(&plugin.root, &plugin.data), problems),
            None => (hooks, problems),
        }
    })
}

fn scoped(written: &Value, scope: Scope) -> Value {
    let mut events = written.clone();
    if scope == Scope::Subagent
        && let Some(events) = events.as_object_mut()
        && let Some(stop) = events.shift_remove("Stop")
    {
        let groups = stop.as_array().cloned().unwrap_or_default();
        match events.get_mut("SubagentStop").and_then(Value::as_array_mut) {
            Some(known) => known.extend(groups),
            None => drop(events.insert("SubagentStop".into(), Value::Array(groups))),
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stop_of_a_subagent_is_its_own_end() {
        for (written, registered) in [
            (json!({"Stop": [1]}), json!({"SubagentStop": [1]})),
            (json!({"Stop": [1], "SubagentStop": [2]}), json!({"SubagentStop": [2, 1]})),
            (json!({"PreToolUse": [1]}), json!({"PreToolUse": [1]})),
            (json!("x"), json!("x")),
        ] {
            assert_eq!(scoped(&written, Scope::Subagent), registered, "{written}");
            assert_eq!(scoped(&written, Scope::Session), written);
        }
    }

    #[test]
    fn settings_that_switch_hooks_off_switch_these_off() {
        let hooks = json!({"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]});
        let agent = AgentDef { name: "a".into(), hooks: Some(hooks), ..AgentDef::default() };
        for (settings, is_empty) in [
            (json!({}), false),
            (json!({"disableAllHooks": true}), true),
            (json!({"allowManagedHooksOnly": true}), true),
            (json!({"disableAllHooks": false}), false),
        ] {
            assert_eq!(of_agent(&settings, &agent, Scope::Session).0.is_empty(), is_empty, "{settings}");
        }
    }
}
