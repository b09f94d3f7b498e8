//! Hooks that plugins, agents and skills bring, put into the session or into one conversation. What cannot be used is
//! warned about.

use crate::Options;
use crate::front::warn;
use crate::shared::{Lane, Shared};
use hooks::Hooks;
use hooks::frontmatter_hooks::{self as found, Found, Scope};
use project::{AgentDef, Plugin, Skill};
use std::rc::Rc;

fn warned((hooks, problems): Found) -> Hooks {
    for problem in problems {
        warn(&problem);
    }
    hooks
}

pub fn of_plugin(options: &Options, plugin: &Plugin) -> Hooks {
    warned(found::of_plugin(&options.settings.merged, plugin))
}

/// Those of an agent that works for another one.
pub fn of_subagent(options: &Options, agent: &AgentDef) -> Hooks {
    warned(found::of_agent(&options.settings.merged, agent, Scope::Subagent))
}

/// The agent that the session runs as brings its hooks for the whole session.
pub fn by_session_agent(shared: &Shared, agent: &AgentDef) {
    let hooks = warned(found::of_agent(&shared.options.settings.merged, agent, Scope::Session));
    Rc::make_mut(&mut shared.live.hooks.borrow_mut()).add(hooks);
}

/// A skill that was called brings its hooks for the rest of the conversation that called it.
pub fn by_skill(shared: &Shared, lane: &Lane, skill: &Skill) {
    if skill.hooks.is_none() {
        return;
    }
    let (settings, by) = (&shared.options.settings.merged, skill.path.display().to_string());
    if lane.role.is_main() {
        let hooks = warned(found::of_skill(settings, skill, Scope::Session));
        Rc::make_mut(&mut shared.live.hooks.borrow_mut()).bring(&by, hooks);
    } else {
        lane.hooks.borrow_mut().bring(&by, warned(found::of_skill(settings, skill, Scope::Subagent)));
    }
}

/// Those of a skill that an agent of its own carries out.
pub fn of_forked_skill(options: &Options, skill: &Skill) -> Hooks {
    warned(found::of_skill(&options.settings.merged, skill, Scope::Subagent))
}
