//! Tools that are parts of the conversation rather than of the machine: sub-agents, skills, the plan, questions to a person,
//! the list of tasks, the structured answer, and the search that another model call does.
//!
//! Here is what they say of themselves, how their input is checked, and what needs nothing of the runtime.

mod error;

pub mod agent;
pub mod messages;
pub mod plan;
pub mod question;
pub mod schedule;
pub mod search;
pub mod skill;
pub mod structured;
pub mod task_list;
pub mod tasks;
pub mod tool_search;
pub mod worktree;

pub use error::CallError;
pub use question::ASK_USER;
pub use structured::structured_tool;
pub use tasks::is_one as is_task_tool;

use options::Setup;
use tools::ToolSpec;

pub fn specs() -> impl Iterator<Item = &'static ToolSpec> {
    let single = [
        &agent::SPEC,
        &skill::SPEC,
        &search::SPEC,
        &plan::SPEC,
        &plan::ENTER_SPEC,
        &question::SPEC,
        &tool_search::SPEC,
    ];
    single.into_iter().chain(&tasks::SPECS).chain(&messages::SPECS).chain(&schedule::SPECS).chain(&worktree::SPECS)
}

/// A tool's description with what this project adds to it.
pub fn description(spec: &ToolSpec, setup: &Setup) -> String {
    match &*spec.name {
        "Agent" => format!("{}\n\nAgents:\n{}", spec.description, agent::listing(setup)),
        "Skill" => format!("{}\n\nSkills:\n{}", spec.description, skill::listing(setup)),
        _ => spec.description.clone().into_owned(),
    }
}

#[cfg(test)]
#[path = "specs_tests.rs"]
mod tests;
