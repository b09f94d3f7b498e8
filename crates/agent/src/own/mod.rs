//! Tools that are parts of the conversation rather than of the machine: sub-agents, skills, the plan,
//! questions to a person, the list of tasks, the structured answer, and the search that another model call does.

pub mod background;
pub mod errand;
mod outfit;
mod plan;
mod question;
mod search;
mod skill;
mod structured;
mod subagent;
mod task_list;
mod tasks;
mod worktree;

use crate::Setup;
use crate::ask::ToolCall;
use crate::calls::Done;
use crate::shared::{Lane, Shared};
use crate::toolset::canonical;
use std::pin::Pin;
use std::rc::Rc;
use tools::ToolSpec;

pub use errand::progress;
pub use question::ASK_USER;
pub use skill::{Called, call as call_skill};
pub use structured::{STRUCTURED_OUTPUT, structured_tool};
pub use subagent::{GENERAL_AGENT, builtin as builtin_agents};
pub use task_list::{Task, TaskList};

/// Output limit of questions beside the conversation.
pub const ASIDE_MAX_TOKENS: u64 = 16_000;

pub fn specs() -> impl Iterator<Item = &'static ToolSpec> {
    [&subagent::SPEC, &skill::SPEC, &search::SPEC, &plan::SPEC, &question::SPEC].into_iter().chain(&tasks::SPECS)
}

pub fn is_own(name: &str) -> bool {
    name == STRUCTURED_OUTPUT || specs().any(|spec| spec.name == name)
}

/// A tool's description with what this project adds to it.
pub fn description(spec: &ToolSpec, setup: &Setup) -> String {
    match &*spec.name {
        "Agent" => format!("{}\n\nAgents:\n{}", spec.description, subagent::listing(setup)),
        "Skill" => format!("{}\n\nSkills:\n{}", spec.description, skill::listing(setup)),
        _ => spec.description.clone().into_owned(),
    }
}

/// Boxed, because a sub-agent runs the same machine again.
pub fn run<'a>(shared: &'a Rc<Shared>, lane: &'a Lane, call: &'a ToolCall) -> Pin<Box<dyn Future<Output = Done> + 'a>> {
    Box::pin(async move {
        match canonical(&call.name) {
            "Agent" => subagent::run(shared, lane, call).await,
            "Skill" => Box::pin(skill::run(shared, lane, call)).await,
            "WebSearch" => search::run(shared, lane, call).await,
            "ExitPlanMode" => plan::run(shared, lane, call).await,
            ASK_USER => question::run(shared, lane, call).await,
            name if tasks::is_one(name) => tasks::run(shared, lane, call).await,
            _ => structured::run(shared, call),
        }
    })
}
