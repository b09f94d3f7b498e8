//! Agent (older name: Task): another agent, with its own context and transcript, for one task.
//!
//! Deliberately absent: starting it (`subagents`).

use super::error::CallError;
use crate::texts;
use options::{Options, Setup};
use policy::names;
use project::AgentDef;
use serde_json::Value;
use tools::ToolSpec;
use turn::Background;

pub static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::AGENT,
    "Give a task to another agent that works on its own and returns one final answer. Good for wide searches and for independent pieces of work; \
                  several in one message run at the same time. It knows nothing of this conversation: put everything it needs into the prompt.",
    r#"{"type":"object","properties":{"description":{"type":"string","description":"Three to five words"},"prompt":{"type":"string","description":"The whole task"},"subagent_type":{"type":"string","description":"Which agent; general-purpose if left out"},"model":{"type":"string","description":"haiku, sonnet, opus or fable; ours if left out"},"run_in_background":{"type":"boolean","description":"true: go on at once; false: wait for the answer. If left out, an agent that takes more than a moment goes on in the background. You are told when one in the background has finished"},"name":{"type":"string"},"isolation":{"type":"string","enum":["worktree"],"description":"worktree: in a git checkout of its own"}},"required":["description","prompt"],"additionalProperties":true}"#,
);

/// The agent that is meant where none is named.
pub const GENERAL_AGENT: &str = "general-purpose";

const READ_ONLY_TOOLS: [&str; 6] = ["Read", "Glob", "Grep", "Bash", "WebFetch", "WebSearch"];

/// The agents that are there without any file.
pub fn builtin() -> Vec<AgentDef> {
    let agent = |name: &str, description: &str, prompt: &str| AgentDef {
        name: name.into(),
        description: description.into(),
        prompt: prompt.into(),
        source: "builtin",
        ..AgentDef::default()
    };
    let reader = |agent: AgentDef| AgentDef { tools: Some(READ_ONLY_TOOLS.map(str::to_owned).to_vec()), ..agent };
    vec![
        agent(GENERAL_AGENT, "any task: research, changes, several steps", texts::GENERAL),
        reader(agent("Explore", "finds code and answers questions about it; only reads", texts::EXPLORE)),
        reader(agent("Plan", "works out how a change should be made; only reads", texts::PLAN)),
    ]
}

/// What the machine has to know to decide who is waited for.
pub fn background(options: &Options, setup: &Setup) -> Background {
    let unnamed = |name: &str| if name == GENERAL_AGENT { "" } else { name }.to_owned();
    let wishes = setup.agents.iter().filter_map(|agent| Some((agent, agent.background?)));
    Background {
        is_allowed: options.tools.shell.background_allowed,
        // A turn that begins when an agent has ended is counted anew, so a limit of turns holds only where agents are waited for.
        is_default: options.limits.max_turns.is_none(),
        agents: wishes.flat_map(|(agent, wish)| [(agent.name.clone(), wish), (unnamed(&agent.name), wish)]).collect(),
    }
}

pub fn listing(setup: &Setup) -> String {
    setup.agents.iter().map(|agent| format!("- {}: {}\n", agent.name, agent.description)).collect()
}

pub fn check(setup: &Setup, input: &Value) -> Result<(), CallError> {
    if input["prompt"].as_str().is_none() || input["description"].as_str().is_none() {
        return Err(CallError::AgentFields);
    }
    named(setup, input["subagent_type"].as_str()).map(drop)
}

/// An agent by its name; the general one where none is named.
pub fn named<'a>(setup: &'a Setup, name: Option<&str>) -> Result<&'a AgentDef, CallError> {
    let name = name.filter(|name| !name.is_empty()).unwrap_or(GENERAL_AGENT);
    setup.agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
        let known: Vec<&str> = setup.agents.iter().map(|agent| agent.name.as_str()).collect();
        CallError::NoAgent { name: name.to_owned(), known: known.join(", ") }
    })
}
