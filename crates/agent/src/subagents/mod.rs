//! The effect of starting agents: an agent's conversation, its work, and what comes of it.
//!
//! How long it is waited for is the caller's business: [`Subagents::attend`] waits, `background` has what happens without.

mod background;
mod error;
mod messages;
mod setup;
mod worktree;

pub use error::SubagentError;
pub use setup::moved as moved_rules;

use crate::git_state::GitState;
use crate::skill_texts::SkillTexts;
use crate::{Options, Prompter};
use context::{Tool, ToolResources, prompt};
use conversation::rules::{self, Rules};
use conversation::{
    Beginning, Conversation, HOOK_AGENT, HookRunner, Inside, KnownAgents, Memories, Reader, SubagentStats,
    frontmatter_hooks,
};
use futures_util::future::LocalBoxFuture;
use hooks::Hooks;
use mcp::{AgentServers, SessionServers};
use options::{Choices, compact_at, limits};
use output::{Output, Secrets, Transcripts};
use policy::RuleSet;
use project::AgentDef;
use serde_json::Value;
use setup::SubagentSetup;
use std::cell::{Cell, OnceCell};
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use tokio::sync::mpsc::{Receiver, channel};
use turn::{
    AgentWait, CallContent, CallResult, Config, Input, Role, Settings, Subagent, SubagentResult, SubagentStatus,
    SubagentTask, Turn,
};
use wire::{Event, PermissionMode, System, TaskNotification, TaskStarted};
use worktree::Worktree;

/// Runs another machine to the end of its task.
pub trait Drive {
    /// What comes through `inbox` goes to the machine: an interrupt.
    fn drive(
        &self,
        conversation: Rc<Conversation>,
        task: SubagentTask,
        inbox: Receiver<Input>,
    ) -> LocalBoxFuture<'static, SubagentResult>;
}

/// A task for another agent.
pub struct Assignment {
    pub agent: AgentDef,
    pub task: String,
    pub description: String,
    /// The call that asks for it.
    pub tool_use_id: String,
    /// How the caller wants to call it later.
    pub name: Option<String>,
    /// What the caller asks for; the agent's own otherwise.
    pub model: Option<String>,
    /// In a checkout of its own.
    pub is_isolated: bool,
    /// Of the skill that it carries out, beside the agent's own.
    pub hooks: Hooks,
}

/// An agent that is ready to begin.
pub struct Ready {
    agent_id: String,
    /// Where its own conversation is written; empty where none is.
    transcript_file: String,
    conversation: Rc<Conversation>,
    task: SubagentTask,
    worktree: Option<Worktree>,
    _servers: Option<AgentServers>,
    _counted: Counted,
}

/// What clients are told of an agent that starts.
pub struct Launch {
    pub task_id: String,
    pub agent_type: String,
    pub description: String,
    pub prompt: String,
    pub tool_use_id: String,
}

impl Launch {
    fn of(ready: &Ready, assignment: &Assignment) -> Self {
        Self {
            task_id: ready.agent_id.clone(),
            agent_type: assignment.agent.name.clone(),
            description: assignment.description.clone(),
            prompt: assignment.task.clone(),
            tool_use_id: assignment.tool_use_id.clone(),
        }
    }
}

/// What an agent came to.
pub struct Finished {
    pub result: CallResult,
    pub status: SubagentStatus,
    totals: Value,
}

pub struct Subagents {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub secrets: Secrets,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
    pub resources: Rc<ToolResources>,
    pub memories: Rc<Memories>,
    pub transcripts: Rc<Transcripts>,
    pub skill_texts: Rc<SkillTexts>,
    pub git: Rc<GitState>,
    /// Sub-agents at work now, against the limit.
    pub running: Rc<Cell<usize>>,
    pub stats: SubagentStats,
    /// Those that can be spoken to.
    pub known: KnownAgents,
    pub drive: OnceCell<Weak<dyn Drive>>,
}

/// Counts a running agent until dropped, however its work ends.
pub struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Subagents {
    pub fn count_one(&self) -> Counted {
        self.running.set(self.running.get() + 1);
        Counted(Rc::clone(&self.running))
    }

    /// Whether an agent can be started now, where no machine has looked.
    pub fn may_start(&self, parent: &Conversation) -> Result<(), SubagentError> {
        let limits = &self.options.limits;
        if parent.role.depth() >= limits.agent_depth {
            return Err(SubagentError::TooDeep(limits.agent_depth));
        }
        if self.running.get() >= limits.agents_at_once {
            return Err(SubagentError::TooMany(limits.agents_at_once));
        }
        Ok(())
    }

    /// Starts an agent and waits for it, to its end or as long as the caller does.
    pub async fn attend(
        self: &Rc<Self>,
        parent: &Conversation,
        assignment: &Assignment,
        (counted, inbox): (Counted, Receiver<Input>),
        inside: Inside<'_>,
        wait: AgentWait,
    ) -> Result<Finished, SubagentError> {
        let ready = self.prepare(parent, assignment, counted, Some(inside)).await?;
        let active = self.remember(&ready, assignment);
        let launch = Launch::of(&ready, assignment);
        self.announce(&launch, None).await;
        let (task_id, output_file) = (ready.agent_id.clone(), ready.transcript_file.clone());
        let mut work = Rc::clone(self).work(ready, inbox);
        let finished = tokio::select! {
            biased;
            finished = &mut work => finished,
            registered = self.left_alone(parent, &launch, wait) => {
                return Ok(self.leave(work, active, &launch, registered).await);
            }
        };
        let notification = TaskNotification {
            task_id,
            tool_use_id: Some(assignment.tool_use_id.clone()),
            status: status_word(finished.status).into(),
            output_file,
            summary: assignment.description.clone(),
            usage: Some(finished.totals.clone()),
            ..TaskNotification::default()
        };
        self.output.send(Event::System(System::TaskNotification(Box::new(notification)))).await;
        Ok(finished)
    }

    /// Tells the client that an agent starts.
    async fn announce(&self, launch: &Launch, is_backgrounded: Option<bool>) {
        let event = TaskStarted {
            task_id: launch.task_id.clone(),
            tool_use_id: launch.tool_use_id.clone(),
            description: launch.description.clone(),
            task_type: "local_agent".into(),
            subagent_type: Some(launch.agent_type.clone()),
            prompt: Some(launch.prompt.clone()),
            run_id: Some(self.output.ids().next()),
            is_backgrounded,
            ..TaskStarted::default()
        };
        self.output.send(Event::System(System::TaskStarted(Box::new(event)))).await;
    }

    /// Gives the agent its conversation.
    pub async fn prepare(
        &self,
        parent: &Conversation,
        assignment: &Assignment,
        counted: Counted,
        inside: Option<Inside<'_>>,
    ) -> Result<Ready, SubagentError> {
        let options = &self.options;
        let agent = &assignment.agent;
        let agent_id = self.output.ids().short('a');
        let SubagentSetup { worktree, servers, rules, notes } = self.set_up(assignment, &agent_id).await?;
        let cwd = worktree.as_ref().map_or(&options.cwd, |worktree| &worktree.cwd).clone();
        let sub = Subagent {
            agent_id: agent_id.clone(),
            tool_use_id: assignment.tool_use_id.clone(),
            agent_type: agent.name.clone(),
            description: assignment.description.clone(),
            depth: parent.role.depth() + 1,
            answers_a_hook: agent.name == HOOK_AGENT,
        };
        self.stats.spawn(&sub);
        let may_nest = sub.depth < options.limits.agent_depth;
        let mut toolset = parent.toolset.borrow().narrowed(agent.tools.as_deref(), &agent.disallowed_tools, may_nest);
        if let Some(servers) = &servers {
            toolset = toolset.with(servers.tools().iter().map(Tool::of_server).collect(), &agent.disallowed_tools);
        }
        let (transcript, transcript_file) = self.transcripts.of_agent(&sub);
        let reads_memory = !agent.omit_memory && !matches!(agent.name.as_str(), "Explore" | "Plan");
        let (preamble, memory) = if reads_memory { self.memories.begin(Reader::Agent) } else { Default::default() };
        let skills = match inside {
            Some(inside) => self.skill_texts.preloaded(parent, &agent.skills, inside).await,
            None => Vec::new(),
        };
        // Another checkout stands otherwise.
        let git = if worktree.is_none() { self.git.text() } else { None };
        let mut hooks = frontmatter_hooks::of_subagent(options, agent);
        hooks.add(assignment.hooks.clone());
        let beginning = Beginning {
            tools: self.tools_in(cwd.clone(), &rules),
            system: prompt::sub_system(options, &self.choices, &agent.prompt, &cwd, (git, notes)),
            role: Role::Sub(Box::new(sub)),
            mode: self.mode_for(parent, agent),
            effort: agent.effort.clone(),
            transcript,
            toolset,
            rules,
            hooks,
            memory,
        };
        let machine = self.machine(&beginning, assignment, parent, preamble);
        let conversation = Rc::new(Conversation::new(beginning, machine));
        conversation.mark_effort(conversation.effort_level(&self.choices));
        let task = SubagentTask { task: assignment.task.clone(), skills };
        Ok(Ready { agent_id, transcript_file, conversation, task, worktree, _servers: servers, _counted: counted })
    }

    fn machine(
        &self,
        beginning: &Beginning,
        assignment: &Assignment,
        parent: &Conversation,
        preamble: Option<String>,
    ) -> Turn {
        let setup = self.choices.setup();
        let model = self.model_for(parent, assignment);
        let max_answers = assignment.agent.max_turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX));
        let is_somebody_there = self.options.permissions.prompter != Prompter::Nobody;
        Turn::new(Config {
            role: beginning.role.clone(),
            settings: Settings {
                mode: beginning.mode.unwrap_or_else(|| self.rules.mode()),
                tools: beginning.toolset.table(&setup.tool_aliases),
                prompter: if is_somebody_there { turn::Prompter::Somebody } else { turn::Prompter::Nobody },
                compact_at: compact_at(&self.options, &model),
                overhead_chars: context::overhead(&beginning.system, &beginning.toolset),
                shows_subagent_text: setup.subagent_text,
                model,
                ..Settings::default()
            },
            limits: limits(&self.options, max_answers),
            messages: Vec::new(),
            preamble,
            deferred: None,
            seed: uuid::Uuid::new_v4().as_u64_pair(),
        })
    }

    fn tools_in(&self, cwd: PathBuf, rules: &RuleSet) -> tools::ToolContext {
        if cwd == self.options.cwd {
            return self.resources.context(&self.options);
        }
        let denied = rules::denied(&self.options, &cwd, &rules.deny);
        self.resources.context_in(&self.options, cwd, denied)
    }

    /// Lets the agent work to its end.
    pub async fn carry_out(&self, mut ready: Ready, inbox: Receiver<Input>) -> Finished {
        let Some(drive) = self.drive.get().and_then(Weak::upgrade) else {
            let result = CallResult::error("The session is over.");
            return Finished { result, status: SubagentStatus::Stopped, totals: Value::Null };
        };
        let task = std::mem::take(&mut ready.task);
        let mut ended = drive.drive(Rc::clone(&ready.conversation), task, inbox).await;
        // What was said to it too late for its last question.
        while ended.status == SubagentStatus::Completed {
            let mail = ready.conversation.take_mail();
            if mail.is_empty() {
                break;
            }
            let task = SubagentTask { task: mail.join("\n\n"), skills: Vec::new() };
            let (_nobody, inbox) = channel(1);
            ended = drive.drive(Rc::clone(&ready.conversation), task, inbox).await;
        }
        let mut result = ended.result;
        if let Some(worktree) = ready.worktree.take()
            && let Some(note) = worktree.settle().await
        {
            result = noted(result, &note);
        }
        if !ready.conversation.answers_a_hook() {
            self.stats.end(ended.status);
        }
        Finished { result, status: ended.status, totals: ended.totals }
    }

    fn model_for(&self, parent: &Conversation, assignment: &Assignment) -> String {
        let asking = &self.options.asking;
        let wanted = asking
            .subagent_model
            .as_deref()
            .or(assignment.model.as_deref())
            .or(assignment.agent.model.as_deref())
            .filter(|model| !model.is_empty() && *model != "inherit");
        let wanted = wanted.map(|model| model::resolve(model, &asking.model_env));
        wanted.filter(|id| asking.model_env.allows(id)).unwrap_or_else(|| parent.model())
    }

    /// An agent may tighten the mode or, where the parent asks, choose another; it never gains bypass.
    fn mode_for(&self, parent: &Conversation, agent: &AgentDef) -> Option<PermissionMode> {
        let own = agent.permission_mode.as_deref().and_then(PermissionMode::parse);
        match (self.rules.mode_of(parent), own) {
            (PermissionMode::Default | PermissionMode::Plan, Some(own)) if own != PermissionMode::BypassPermissions => {
                Some(own)
            }
            (PermissionMode::Plan, _) => Some(PermissionMode::Plan),
            _ => None,
        }
    }
}

/// As clients know it.
pub fn status_word(status: SubagentStatus) -> &'static str {
    match status {
        SubagentStatus::Completed => tools::Status::Completed.as_str(),
        SubagentStatus::Failed => tools::Status::Failed.as_str(),
        SubagentStatus::Stopped => tools::Status::Stopped.as_str(),
    }
}

fn noted(result: CallResult, note: &str) -> CallResult {
    let content = match result.content {
        CallContent::Text(text) => CallContent::Text(format!("{text}\n\n{note}")),
        blocks @ CallContent::Blocks(_) => blocks,
    };
    CallResult { content, ..result }
}
