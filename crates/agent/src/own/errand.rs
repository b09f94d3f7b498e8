//! One task given to another agent: its lane, its work, and what comes of it.
//!
//! Whether it is waited for is the caller's business: [`in_foreground`] does, `background` does not.

use crate::calls::Done;
use crate::cancel::Cancel;
use crate::conversation::Conversation;
use crate::frontmatter_hooks;
use crate::memory::{self, Reader};
use crate::outside::Hired;
use crate::own::outfit::{Outfit, outfit};
use crate::own::skill;
use crate::own::worktree::Worktree;
use crate::prompt;
use crate::shared::{Lane, Role, Shared, Sub};
use crate::turn::{End, Turn, drive};
use hooks::Hooks;
use project::AgentDef;
use serde_json::{Value, json};
use session::{Stamp, Store, Transcript, UserExtra};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use tools::{Content, Outcome, Status};
use wire::{Event, PermissionMode, System, TaskNotification, TaskProgress, TaskStarted};

/// A task for another agent.
pub struct Errand<'a> {
    pub agent: &'a AgentDef,
    pub task: &'a str,
    pub description: &'a str,
    /// The call that asks for it.
    pub tool_use_id: &'a str,
    /// What the caller asks for; the agent's own otherwise.
    pub model: Option<&'a str>,
    /// In a checkout of its own.
    pub isolated: bool,
    /// Of the skill that it carries out, beside the agent's own.
    pub hooks: Hooks,
}

/// An agent that is ready to begin.
pub struct Ready {
    pub agent_id: String,
    /// Where its own conversation is written; empty where none is.
    pub transcript_file: String,
    lane: Lane,
    task: String,
    worktree: Option<Worktree>,
    _servers: Option<Hired>,
    _counted: Counted,
}

/// What an agent came to.
pub struct Finished {
    pub outcome: Outcome,
    pub status: Status,
    usage: Value,
}

pub fn within_limits(shared: &Shared, lane: &Lane) -> Result<(), String> {
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
struct Counted(Rc<Shared>);

impl Counted {
    fn one(shared: &Rc<Shared>) -> Self {
        shared.agents_running.set(shared.agents_running.get() + 1);
        Self(Rc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.agents_running.set(self.0.agents_running.get().saturating_sub(1));
    }
}

/// Sends an agent and waits for it.
pub async fn in_foreground(shared: &Rc<Shared>, lane: &Lane, errand: &Errand<'_>) -> Done {
    let ready = match prepare(shared, lane, errand, Rc::clone(&lane.cancel)).await {
        Ok(ready) => ready,
        Err(problem) => return Outcome::error(problem).into(),
    };
    announce(shared, errand, &ready.agent_id, None).await;
    let (task_id, output_file) = (ready.agent_id.clone(), ready.transcript_file.clone());
    let finished = carry_out(shared, ready).await;
    let notification = TaskNotification {
        task_id,
        tool_use_id: Some(errand.tool_use_id.to_owned()),
        status: finished.status.as_str().into(),
        output_file,
        summary: errand.description.to_owned(),
        usage: Some(finished.usage),
        ..TaskNotification::default()
    };
    shared.emitter.send(Event::System(System::TaskNotification(Box::new(notification)))).await;
    Done { cancelled: finished.status == Status::Stopped, ..Done::from(finished.outcome) }
}

/// Tells the client that an agent starts.
pub async fn announce(shared: &Shared, errand: &Errand<'_>, agent_id: &str, is_backgrounded: Option<bool>) {
    let event = TaskStarted {
        task_id: agent_id.to_owned(),
        tool_use_id: errand.tool_use_id.to_owned(),
        description: errand.description.to_owned(),
        task_type: "local_agent".into(),
        subagent_type: Some(errand.agent.name.clone()),
        prompt: Some(errand.task.to_owned()),
        is_backgrounded,
        ..TaskStarted::default()
    };
    shared.emitter.send(Event::System(System::TaskStarted(Box::new(event)))).await;
}

/// Gives the agent its lane. `cancel` is what stops it.
pub async fn prepare(
    shared: &Rc<Shared>,
    lane: &Lane,
    errand: &Errand<'_>,
    cancel: Rc<Cancel>,
) -> Result<Ready, String> {
    let counted = Counted::one(shared);
    let agent = errand.agent;
    let agent_id = shared.emitter.ids().short('a');
    let Outfit { worktree, servers, rules, notes } = outfit(shared, errand, &agent_id).await?;
    let cwd = worktree.as_ref().map_or(&shared.options.cwd, |worktree| &worktree.cwd).clone();
    let sub = Sub {
        agent_id: agent_id.clone(),
        tool_use_id: errand.tool_use_id.to_owned(),
        agent_type: agent.name.clone(),
        description: errand.description.to_owned(),
        model: model_for(shared, lane, errand),
        mode: mode_for(shared, lane, agent),
        effort: agent.effort.clone(),
        depth: lane.role.depth() + 1,
        rules,
    };
    let may_nest = sub.depth < shared.options.limits.agent_depth;
    let mut toolset = lane.toolset.narrowed(agent.tools.as_deref(), &agent.disallowed_tools, may_nest);
    if let Some(servers) = &servers {
        toolset = toolset.with(servers.tools(), &agent.disallowed_tools);
    }
    let (mut transcript, transcript_file) = transcript(shared, &sub, errand.description);
    let reads_memory = !agent.omit_memory && !matches!(agent.name.as_str(), "Explore" | "Plan");
    let (preamble, memory) = if reads_memory { memory::begin(shared, Reader::Agent) } else { Default::default() };
    let mut conversation = Conversation::new(Vec::new(), preamble);
    for text in skill::preloaded(shared, lane, &agent.skills).await {
        let content = json!([{"type": "text", "text": text}]);
        let extra = UserExtra { is_meta: true, ..UserExtra::default() };
        transcript.user(&shared.emitter.ids().next(), &json!({"role": "user", "content": content}), extra);
        conversation.push_user(content);
    }
    let mut hooks = frontmatter_hooks::of_subagent(&shared.options, agent);
    hooks.add(errand.hooks.clone());
    let message = json!({"role": "user", "content": errand.task});
    transcript.user(&shared.emitter.ids().next(), &message, UserExtra::default());
    conversation.push_user(json!(errand.task));
    let mut lane = Lane {
        conversation,
        transcript,
        toolset,
        tools: tools_in(shared, cwd.clone(), &sub),
        system: prompt::sub_system(shared, &agent.prompt, &cwd, notes),
        role: Role::Sub(Box::new(sub)),
        max_turns: agent.max_turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        cancel,
        hooks: RefCell::new(hooks),
        memory,
    };
    crate::front::mark_effort(shared, &mut lane);
    let task = errand.task.to_owned();
    Ok(Ready { agent_id, transcript_file, lane, task, worktree, _servers: servers, _counted: counted })
}

fn tools_in(shared: &Shared, cwd: PathBuf, sub: &Sub) -> tools::ToolContext {
    if cwd == shared.options.cwd {
        return shared.kit.context(&shared.options);
    }
    let denied = crate::permit::denied(&shared.options, &cwd, &sub.rules.deny);
    shared.kit.context_in(&shared.options, cwd, denied)
}

/// Lets the agent work to its end.
pub async fn carry_out(shared: &Rc<Shared>, mut ready: Ready) -> Finished {
    crate::moments::subagent_starts(shared, &mut ready.lane).await;
    memory::tell(shared, &mut ready.lane).await;
    let mut turn = Turn::begin();
    let end = drive(shared, &mut ready.lane, &mut turn).await;
    let status = match &end {
        End::Done => Status::Completed,
        End::Interrupted { .. } => Status::Stopped,
        _ => Status::Failed,
    };
    let usage = spent(&turn);
    let mut outcome = outcome(shared, &ready.agent_id, &ready.task, &turn, &end);
    if let Some(worktree) = ready.worktree.take()
        && let Some(note) = worktree.settle().await
    {
        outcome = noted(outcome, &note);
    }
    Finished { outcome, status, usage }
}

fn model_for(shared: &Shared, lane: &Lane, errand: &Errand<'_>) -> String {
    let asking = &shared.options.asking;
    let wanted = asking
        .subagent_model
        .as_deref()
        .or(errand.model)
        .or(errand.agent.model.as_deref())
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

fn spent(turn: &Turn) -> Value {
    json!({"total_tokens": total_tokens(turn), "tool_uses": turn.tool_uses, "duration_ms": turn.elapsed_ms()})
}

/// Tells the client how far an agent has come. One that only judges for a hook was never announced.
pub async fn progress(shared: &Shared, lane: &Lane, turn: &Turn, last_tool: &str) {
    let Role::Sub(sub) = &lane.role else { return };
    if crate::helpers::answers_a_hook(lane) {
        return;
    }
    let event = TaskProgress {
        task_id: sub.agent_id.clone(),
        tool_use_id: sub.tool_use_id.clone(),
        description: sub.description.clone(),
        subagent_type: sub.agent_type.clone(),
        usage: spent(turn),
        last_tool_name: last_tool.to_owned(),
        ..TaskProgress::default()
    };
    shared.emitter.send(Event::System(System::TaskProgress(Box::new(event)))).await;
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

fn noted(outcome: Outcome, note: &str) -> Outcome {
    let content = match outcome.content {
        Content::Text(text) => Content::Text(format!("{text}\n\n{note}")),
        blocks @ Content::Blocks(_) => blocks,
    };
    Outcome { content, ..outcome }
}

fn bounded(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let start: String = text.chars().take(chars).collect();
    format!("{start}\n[cut here: the full answer is in the agent's transcript]")
}
