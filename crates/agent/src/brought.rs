//! Hooks that come along with something: a plugin, an agent, a skill. The settings that limit hooks limit them too.
//!
//! Deliberately absent: whether a folder may bring hooks at all. `config` takes them out of the documents of one
//! that is not trusted.

use crate::Options;
use crate::front::warn;
use crate::hooks::Hooks;
use crate::shared::{Lane, Shared};
use config::{AgentDef, Plugin, Skill};
use serde_json::Value;
use std::rc::Rc;

/// Only those of settings run here, or none.
fn are_off(options: &Options) -> bool {
    let settings = &options.settings.merged;
    settings["allowManagedHooksOnly"] == true || settings["disableAllHooks"] == true
}

/// Takes out the web addresses that the settings do not permit; what was taken out.
pub fn restrict(options: &Options, hooks: &mut Hooks) -> Vec<String> {
    let settings = &options.settings.merged;
    let list = |key: &str| -> Option<Vec<String>> { serde_json::from_value(settings[key].clone()).ok() };
    let (urls, variables) = (list("allowedHttpHookUrls"), list("httpHookAllowedEnvVars"));
    hooks.restrict_http(urls.as_deref(), variables.as_deref())
}

fn usable(options: &Options, read: impl FnOnce() -> (Hooks, Vec<String>)) -> Hooks {
    if are_off(options) {
        return Hooks::default();
    }
    let (mut hooks, mut problems) = read();
    problems.extend(restrict(options, &mut hooks));
    for problem in problems {
        warn(&problem);
    }
    hooks
}

pub fn of_plugin(options: &Options, plugin: &Plugin) -> Hooks {
    usable(options, || {
        let (mut hooks, mut problems) = (Hooks::default(), Vec::new());
        for value in &plugin.hooks {
            let (more, wrong) = Hooks::from_settings(value, &format!("plugin {}", plugin.name));
            hooks.add(more.of_plugin(&plugin.folders.root, &plugin.folders.data));
            problems.extend(wrong);
        }
        (hooks, problems)
    })
}

/// Those of an agent that works for another one.
pub fn of_subagent(options: &Options, agent: &AgentDef) -> Hooks {
    let Some(written) = &agent.hooks else { return Hooks::default() };
    usable(options, || Hooks::from_settings(&for_subagent(written), &format!("agent {}", agent.name)))
}

/// The agent that the session runs as brings its hooks for the whole session.
pub fn by_session_agent(shared: &Shared, agent: &AgentDef) {
    if let Some(written) = &agent.hooks {
        let hooks = usable(&shared.options, || Hooks::from_settings(written, &format!("agent {}", agent.name)));
        Rc::make_mut(&mut shared.live.hooks.borrow_mut()).add(hooks);
    }
}

/// A skill that was called brings its hooks for the rest of the conversation that called it.
pub fn by_skill(shared: &Shared, lane: &Lane, skill: &Skill) {
    let Some(written) = &skill.hooks else { return };
    let by = skill.path.display().to_string();
    if lane.role.is_main() {
        let hooks = of_skill(&shared.options, skill, written);
        Rc::make_mut(&mut shared.live.hooks.borrow_mut()).bring(&by, hooks);
    } else {
        lane.hooks.borrow_mut().bring(&by, of_skill(&shared.options, skill, &for_subagent(written)));
    }
}

/// Those of a skill that an agent of its own carries out.
pub fn of_forked_skill(options: &Options, skill: &Skill) -> Hooks {
    skill.hooks.as_ref().map(|written| of_skill(options, skill, &for_subagent(written))).unwrap_or_default()
}

fn of_skill(options: &Options, skill: &Skill, written: &Value) -> Hooks {
    usable(options, || {
        let (hooks, problems) = Hooks::from_skill(written, &format!("skill {}", skill.name));
        match &skill.plugin {
            Some(plugin) => (hooks.of_plugin(&plugin.root, &plugin.data), problems),
            None => (hooks, problems),
        }
    })
}

/// Whoever writes for an agent means the agent's own end by Stop.
fn for_subagent(written: &Value) -> Value {
    let mut events = written.clone();
    if let Some(events) = events.as_object_mut()
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
    fn stop_of_an_agent_is_its_own_end() {
        for (written, meant) in [
            (json!({"Stop": [1]}), json!({"SubagentStop": [1]})),
            (json!({"Stop": [1], "SubagentStop": [2]}), json!({"SubagentStop": [2, 1]})),
            (json!({"PreToolUse": [1]}), json!({"PreToolUse": [1]})),
            (json!("x"), json!("x")),
        ] {
            assert_eq!(for_subagent(&written), meant, "{written}");
        }
    }
}
