//! Agent (older name: Task): another agent, with its own context and transcript, for one task.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::own::background;
use crate::own::errand::{self, Errand};
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use crate::{Setup, words};
use policy::names;
use project::AgentDef;
use std::rc::Rc;
use tools::{Outcome, ToolSpec};

pub static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::AGENT,
    "Give a task to another agent that works on its own and returns one final answer. Good for wide searches and for independent pieces of work; \
                  several in one message run at the same time. It knows nothing of this conversation: put everything it needs into the prompt.",
    r#"{"type":"object","properties":{"description":{"type":"string","description":"Three to five words"},"prompt":{"type":"string","description":"The whole task"},"subagent_type":{"type":"string","description":"Which agent; general-purpose if left out"},"model":{"type":"string","description":"haiku, sonnet, opus or fable; ours if left out"},"run_in_background":{"type":"boolean","description":"Go on at once; you are told when it has finished"},"name":{"type":"string"},"isolation":{"type":"string","enum":["worktree"],"description":"worktree: in a git checkout of its own"}},"required":["description","prompt"],"additionalProperties":true}"#,
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
        agent(GENERAL_AGENT, "any task: research, changes, several steps", words::GENERAL),
        reader(agent("Explore", "finds code and answers questions about it; only reads", words::EXPLORE)),
        reader(agent("Plan", "works out how a change should be made; only reads", words::PLAN)),
    ]
}

pub fn listing(setup: &Setup) -> String {
    setup.agents.iter().map(|agent| format!("- {}: {}\n", agent.name, agent.description)).collect()
}

pub async fn run(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall) -> Done {
    if call.input["prompt"].as_str().is_none() || call.input["description"].as_str().is_none() {
        return Outcome::misuse("Agent needs \"description\" and \"prompt\", both strings.").into();
    }
    if let Err(problem) = named(&shared.setup(), call.input["subagent_type"].as_str()) {
        return Outcome::misuse(problem).into();
    }
    if let Err(problem) = errand::within_limits(shared, lane) {
        return Outcome::error(problem).into();
    }
    let permitted = match permit(shared, lane, &call.id, "Agent", call.input.clone(), Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    let input = &permitted.input;
    let setup = shared.setup();
    // A hook or the client may have chosen another agent.
    let agent = match named(&setup, input["subagent_type"].as_str()) {
        Ok(agent) => agent,
        Err(problem) => return Outcome::misuse(problem).into(),
    };
    let errand = Errand {
        agent,
        task: input["prompt"].as_str().unwrap_or_default(),
        description: input["description"].as_str().unwrap_or_default(),
        tool_use_id: &call.id,
        model: input["model"].as_str(),
        isolated: input["isolation"].as_str().or(agent.isolation.as_deref()) == Some("worktree"),
        hooks: hooks::Hooks::default(),
    };
    let wanted = input["run_in_background"].as_bool().or(agent.background).unwrap_or(false);
    let done = if wanted && background::may_launch(shared, lane) {
        background::launch(shared, lane, &errand).await
    } else {
        errand::in_foreground(shared, lane, &errand).await
    };
    done.of(permitted)
}

/// An agent by its name; the general one where none is named.
pub fn named<'a>(setup: &'a Setup, name: Option<&str>) -> Result<&'a AgentDef, String> {
    let name = name.filter(|name| !name.is_empty()).unwrap_or(GENERAL_AGENT);
    setup.agents.iter().find(|agent| agent.name == name).ok_or_else(|| {
        let known: Vec<&str> = setup.agents.iter().map(|agent| agent.name.as_str()).collect();
        format!("There is no agent \"{name}\". Known: {}", known.join(", "))
    })
}
