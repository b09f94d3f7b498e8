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

use options::Setup;
use serde_json::Value;
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
    single.into_iter().chain(families().into_iter().flat_map(Family::specs))
}

/// Tools that have a file together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Tasks,
    Messages,
    Schedule,
    Worktree,
}

fn families() -> [Family; 4] {
    [Family::Tasks, Family::Messages, Family::Schedule, Family::Worktree]
}

impl Family {
    pub fn of(name: &str) -> Option<Self> {
        families().into_iter().find(|family| family.specs().iter().any(|spec| spec.name == name))
    }

    fn specs(self) -> &'static [ToolSpec] {
        match self {
            Self::Tasks => &tasks::SPECS,
            Self::Messages => &messages::SPECS,
            Self::Schedule => &schedule::SPECS,
            Self::Worktree => &worktree::SPECS,
        }
    }

    /// The input of a call, as its schema and what a schema cannot say want it.
    pub fn check(self, name: &str, input: Value) -> Result<Value, CallError> {
        let spec = self.specs().iter().find(|spec| spec.name == name);
        let input = spec.ok_or_else(|| CallError::NoTool(name.to_owned()))?.check(input)?;
        match self {
            Self::Tasks => Ok(()),
            Self::Messages => messages::check(&input),
            Self::Schedule => schedule::check(name, &input),
            Self::Worktree => worktree::check(name, &input),
        }?;
        Ok(input)
    }
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
