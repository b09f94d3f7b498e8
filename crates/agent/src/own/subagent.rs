//! Agent (older name: Task): another agent, with its own context and transcript, for one task.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::conversation::Conversation;
use crate::shared::{Lane, Role, Shared, Sub};
use crate::turn::{End, Turn, drive};
use crate::{Setup, prompt, words};
use config::AgentDef;
use serde_json::{Value, json};
use session::{Stamp, Store, Transcript, UserExtra};
use std::rc::Rc;
use tools::{Outcome, ToolSpec};
use wire::{Event, PermissionMode, System, TaskNotification, TaskStarted};

pub const SPEC: ToolSpec = ToolSpec {
    name: "Agent",
    description: "Give a task to another agent that works on its own and returns one final answer. Good for wide searches and for independent pieces of work; \
                  several in one message run at the same time. It knows nothing of this conversation: put everything it needs into the prompt.",
    schema: r#"{"type":"object","properties":{"description":{"type":"string","description":"Three to five words"},"prompt":{"type":"string","description":"The whole task"},"subagent_type":{"type":"string","description":"Which agent; general-purpose if left out"},"model":{"type":"string","description":"haiku, sonnet, opus or fable; ours if left out"},"run_in_background":{"type":"boolean"},"name":{"type":"string"},"isolation":{"type":"string"}},"required":["description","prompt"],"additionalProperties":true}"#,
    // Its own calls are judged one by one; beside others it does no harm that they could not do.
    read_only: true,
};

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
        agent("general-purpose", "any task: research, changes, several steps", words::GENERAL),
        reader(agent("Explore", "finds code and answers questions about it; only reads", words::EXPLORE)),
        reader(agent("Plan", "works out how a change should be made; only reads", words::PLAN)),
    ]
}

pub fn listing(setup: &Setup) -> String {
    setup.agents.iter().map(|agent| format!("- {}: {}\n", agent.name, agent.description)).collect()
}

pub async fn run(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall) -> Done {
    let (Some(task), Some(description)) = (call.input["prompt"].as_str(), call.input["description"].as_str()) else {
        return Outcome::misuse("Agent needs \"description\" and \"prompt\", both strings.").into();
    };
    let kind = call.input["subagent_type"].as_str().unwrap_or("general-purpose");
    let setup = shared.setup();
    let Some(agent) = setup.agents.iter().find(|agent| agent.name == kind) else {
        let known: Vec<&str> = setup.agents.iter().map(|agent| agent.name.as_str()).collect();
        return Outcome::misuse(format!("There is no agent \"{kind}\". Known: {}", known.join(", "))).into();
    };
    if let Err(problem) = within_limits(shared, lane) {
        return Outcome::error(problem).into();
    }
    if let Err(refused) = crate::permit::permit(shared, lane, &call.id, "Agent", call.input.clone(), Vec::new()).await {
        return refused.into();
    }
    let running = Running::count(shared);
    let sub = Sub {
        agent_id: shared.emitter.ids().short('a'),
        tool_use_id: call.id.clone(),
        agent_type: kind.to_owned(),
        model: model_for(shared, lane, call, agent),
        mode: mode_for(shared, lane, agent),
        depth: lane.role.depth() + 1,
    };
    let done = work(shared, lane, agent, sub, task, description).await;
    drop(running);
    done
}

fn within_limits(shared: &Shared, lane: &Lane) -> Result<(), String> {
    let limits = &shared.options.limits;
    if lane.role.depth() >= limits.agent_depth {
        return Err(format!(
            "Agents may nest {} deep and this is the deepest. Do the task yourself.",
            limits.agent_depth
        ));
    }
    if shared.agents_running.get() >= limits.agents_at_once {
        return Err(format!(
            "{} agents are at work already, which is the limit. Wait for them or do the task yourself.",
            limits.agents_at_once
        ));
    }
    Ok(())
}

/// Counts a running agent until dropped, however its work ends.
struct Running<'a>(&'a Shared);

impl<'a> Running<'a> {
    fn count(shared: &'a Shared) -> Self {
        shared.agents_running.set(shared.agents_running.get() + 1);
        Self(shared)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.agents_running.set(self.0.agents_running.get().saturating_sub(1));
    }
}

fn model_for(shared: &Shared, lane: &Lane, call: &ToolCall, agent: &AgentDef) -> String {
    let asking = &shared.options.asking;
    let wanted = asking
        .subagent_model
        .as_deref()
        .or(call.input["model"].as_str())
        .or(agent.model.as_deref())
        .filter(|model| !model.is_empty() && *model != "inherit");
    wanted.map_or_else(|| shared.model(&lane.role), |model| model::resolve(model, &asking.model_env))
}

/// An agent may tighten the mode or, where the parent asks, choose another; it never gains bypass.
fn mode_for(shared: &Shared, lane: &Lane, agent: &AgentDef) -> Option<PermissionMode> {
    let parent = shared.mode(&lane.role);
    let own = agent.permission_mode.as_deref().and_then(PermissionMode::parse);
    match (parent, own) {
        (PermissionMode::Default | PermissionMode::Plan, Some(own)) if own != PermissionMode::BypassPermissions => {
            Some(own)
        }
        (PermissionMode::Plan, _) => Some(PermissionMode::Plan),
        _ => None,
    }
}

async fn work(shared: &Rc<Shared>, lane: &Lane, agent: &AgentDef, sub: Sub, task: &str, description: &str) -> Done {
    let agent_id = sub.agent_id.clone();
    started(shared, &sub, task, description).await;
    let (mut inner, output_file) = open_lane(shared, lane, agent, sub, task, description);
    crate::moments::subagent_starts(shared, &mut inner).await;
    let mut turn = Turn::begin();
    let end = drive(shared, &mut inner, &mut turn).await;
    let outcome = outcome(shared, &agent_id, task, &turn, &end);
    let status = match &end {
        End::Done => "completed",
        End::Interrupted { .. } => "stopped",
        _ => "failed",
    };
    let tool_use_id = inner.role.parent_tool_use_id();
    let notification = TaskNotification {
        task_id: agent_id,
        tool_use_id,
        status,
        output_file,
        summary: description.to_owned(),
        usage: Some(
            json!({"total_tokens": total_tokens(&turn), "tool_uses": turn.tool_uses, "duration_ms": turn.elapsed_ms()}),
        ),
    };
    shared.emitter.send(Event::System(System::TaskNotification(Box::new(notification)))).await;
    Done { cancelled: matches!(end, End::Interrupted { .. }), ..Done::from(outcome) }
}

async fn started(shared: &Shared, sub: &Sub, task: &str, description: &str) {
    let event = TaskStarted {
        task_id: sub.agent_id.clone(),
        tool_use_id: sub.tool_use_id.clone(),
        description: description.to_owned(),
        task_type: "local_agent",
        subagent_type: Some(sub.agent_type.clone()),
        prompt: Some(task.to_owned()),
        is_backgrounded: None,
    };
    shared.emitter.send(Event::System(System::TaskStarted(Box::new(event)))).await;
}

fn open_lane(
    shared: &Shared,
    lane: &Lane,
    agent: &AgentDef,
    sub: Sub,
    task: &str,
    description: &str,
) -> (Lane, String) {
    let options = &shared.options;
    let may_nest = sub.depth < options.limits.agent_depth;
    let toolset = lane.toolset.narrowed(agent.tools.as_deref(), &agent.disallowed_tools, may_nest);
    let (mut transcript, output_file) = transcript(shared, &sub, description);
    let message = json!({"role": "user", "content": task});
    transcript.user(&shared.emitter.ids().next(), &message, UserExtra::default());
    let reads_memory = !matches!(agent.name.as_str(), "Explore" | "Plan");
    let preamble = if reads_memory { prompt::preamble(shared, PermissionMode::Default) } else { None };
    let mut conversation = Conversation::new(Vec::new(), preamble);
    conversation.push_user(json!(task));
    let system = prompt::sub_system(shared, &agent.prompt);
    let max_turns = agent.max_turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
    let tools = shared.kit.context(options);
    (Lane { conversation, transcript, toolset, tools, system, role: Role::Sub(sub), max_turns }, output_file)
}

fn transcript(shared: &Shared, sub: &Sub, description: &str) -> (Transcript, String) {
    let session = &shared.options.session;
    if !session.persist {
        return (Transcript::disabled(), String::new());
    }
    let store = Store::new(&shared.options.places.config_dir, &shared.options.cwd, session.project_dir_name.as_deref());
    let meta = json!({"agentType": sub.agent_type, "toolUseId": sub.tool_use_id, "description": description});
    let stamp = Stamp {
        session_id: shared.emitter.session_id(),
        cwd: shared.options.cwd.display().to_string(),
        version: shared.options.version.to_owned(),
        git_branch: session.git_branch.clone(),
        entrypoint: session.entrypoint.clone(),
        agent_id: Some(sub.agent_id.clone()),
        sidechain: true,
    };
    let path = store.agent_path(&shared.emitter.session_id(), &sub.agent_id);
    let file = path.display().to_string();
    let mirror = crate::front::mirror(&shared.options, &shared.emitter);
    match session::write_agent_meta(&path, &meta) {
        Ok(()) => mirror.iter().for_each(|show| show(&path, metadata(&meta).as_bytes())),
        Err(error) => crate::front::warn(&format!("warning: {error}")),
    }
    (Transcript::create(&path, stamp).hiding(shared.secrets.list()).mirrored(mirror), file)
}

/// The sidecar as an entry of the agent's own stream.
fn metadata(meta: &Value) -> String {
    let mut entry = json!({"type": "agent_metadata"});
    for (key, value) in meta.as_object().into_iter().flatten() {
        entry[key] = value.clone();
    }
    entry.to_string()
}

fn total_tokens(turn: &Turn) -> u64 {
    turn.usage.context_tokens()
}

fn outcome(shared: &Shared, agent_id: &str, task: &str, turn: &Turn, end: &End) -> Outcome {
    let text: String = bounded(&turn.last_text, shared.options.limits.agent_output);
    match end {
        End::Done | End::MaxTurns(_) if !text.trim().is_empty() => {
            let trailer = format!(
                "\n\n[agent {agent_id}: {} tool calls, {} tokens, {:.1} s]",
                turn.tool_uses,
                total_tokens(turn),
                turn.elapsed_ms() as f64 / 1000.0
            );
            let structured = json!({
                "status": "completed",
                "prompt": task,
                "agentId": agent_id,
                "content": [{"type": "text", "text": text}],
                "totalToolUseCount": turn.tool_uses,
                "totalDurationMs": turn.elapsed_ms(),
                "totalTokens": total_tokens(turn),
                "usage": turn.usage,
            });
            Outcome::text(format!("{text}{trailer}"), structured)
        }
        End::Done => Outcome::error("The agent ended without an answer."),
        End::Interrupted { .. } => Outcome::error(crate::calls::INTERRUPTED),
        other => Outcome::error(format!("The agent failed: {}", crate::result::reason(other))),
    }
}

fn bounded(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let start: String = text.chars().take(chars).collect();
    format!("{start}\n[cut here: the full answer is in the agent's transcript]")
}
