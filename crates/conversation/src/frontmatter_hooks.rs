//! Hooks that plugins, agents and skills bring, put into the session or into one conversation. What cannot be used is
//! warned about.

use crate::conversation::Conversation;
use crate::hook_runner::HookRunner;
use hooks::Hooks;
use hooks::frontmatter_hooks::{self as found, Found, Scope};
use options::Options;
use output::warn;
use project::{AgentDef, Plugin, Skill};

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
pub fn by_session_agent(options: &Options, runner: &HookRunner, agent: &AgentDef) {
    let hooks = warned(found::of_agent(&options.settings.merged, agent, Scope::Session));
    runner.change(|list| list.add(hooks));
}

/// A skill that was called brings its hooks for the rest of the conversation that called it.
pub fn by_skill(options: &Options, runner: &HookRunner, conversation: &Conversation, skill: &Skill) {
    if skill.hooks.is_none() {
        return;
    }
    let (settings, by) = (&options.settings.merged, skill.path.display().to_string());
    if conversation.role.is_main() {
        let hooks = warned(found::of_skill(settings, skill, Scope::Session));
        runner.change(|list| list.bring(&by, hooks));
    } else {
        conversation.hooks.borrow_mut().bring(&by, warned(found::of_skill(settings, skill, Scope::Subagent)));
    }
}

/// Those of a skill that an agent of its own carries out.
pub fn of_forked_skill(options: &Options, skill: &Skill) -> Hooks {
    warned(found::of_skill(&options.settings.merged, skill, Scope::Subagent))
}
