//! The effects of checking a call's input and of running a tool, whoever brings it.
//!
//! Deliberately absent: whether a call may run. A call comes here when the machine says so, with the input that was judged.

use crate::Options;
use crate::model_asker::ModelAsker;
use crate::skills::{Loaded, Skills};
use crate::subagents::Subagents;
use crate::worktrees::Worktrees;
use context::conversation_tools::task_list::{Task, TaskList};
use context::conversation_tools::tasks::{TaskMoment, TaskRefused};
use context::conversation_tools::{
    ASK_USER, Family, agent, plan, question, search, skill, structured, tasks, tool_search, worktree,
};
use conversation::rules::Rules;
use conversation::{Conversation, HookRunner, Inside, Schedule, TaskNews, Updates, values};
use hooks::{CwdChanged, TaskCompleted, TaskCreated};
use mcp::{ServerError, SessionServers, is_servers_tool};
use options::Choices;
use output::Output;
use policy::Targets;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tools::{Checkpoints, Invocation, Tool};
use turn::{CallResult, Input, InterruptCause, STRUCTURED_OUTPUT, SubagentStatus, ToolFinish};
use wire::{Event, PermissionMode, ToolProgress};

/// A running tool shows signs of life this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

pub struct ToolRunner {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub updates: Rc<Updates>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
    pub model: Rc<ModelAsker>,
    pub checkpoints: Rc<Checkpoints>,
    pub skills: Rc<Skills>,
    pub task_news: Rc<TaskNews>,
    pub task_list: RefCell<TaskList>,
    pub web_searches: Cell<u32>,
    pub schedule: Schedule,
    pub worktrees: Worktrees,
    pub subagents: Rc<Subagents>,
}

/// A call that may run.
pub struct Permitted {
    pub tool_use_id: String,
    pub name: String,
    pub input: Value,
    /// Of a shell command that nobody was asked about: the text that was judged, which is what runs.
    pub run: Option<String>,
}

impl ToolRunner {
    /// The input as the tool understands it. The paths that it touches are kept for whoever judges and runs the call.
    pub fn check(
        &self,
        conversation: &Conversation,
        tool_use_id: &str,
        name: &str,
        input: Value,
    ) -> Result<Value, CallResult> {
        if let Some(tool) = tools::find(name) {
            return check_builtin(conversation, tool_use_id, tool, input);
        }
        if is_servers_tool(name) {
            return match input {
                Value::Object(_) => Ok(input),
                _ => Err(CallResult::misuse(format!("{name} needs an object as its input."))),
            };
        }
        if let Some(tool) = self.servers.resource_tool(name) {
            return tool.validate(name, &input).map_err(|error| CallResult::misuse(error.to_string()));
        }
        let setup = self.choices.setup();
        let checked = match name {
            "Agent" => agent::check(&setup, &input),
            "Skill" => skill::called(&setup, &input).map(drop),
            "WebSearch" => search::check(&input),
            "ExitPlanMode" => {
                return plan::check(&self.options.permissions.prompter, self.rules.mode()).map(|()| input);
            }
            "ToolSearch" => tool_search::check(&input),
            ASK_USER => question::check(&input),
            name => match Family::of(name) {
                Some(family) => {
                    return family.check(name, input).map_err(|error| CallResult::misuse(error.to_string()));
                }
                None => Ok(()),
            },
        };
        checked.map(|()| input).map_err(|error| CallResult::misuse(error.to_string()))
    }

    pub async fn run(&self, conversation: &Conversation, call: Permitted, inside: Inside<'_>) -> ToolFinish {
        let finish = self.reach(conversation, call, inside).await;
        self.task_news.tell_started().await;
        finish
    }

    /// Runs a built-in tool outside of any turn; `None` where there is none of this name.
    pub async fn run_alone(&self, conversation: &Conversation, call: &Permitted) -> Option<ToolFinish> {
        Some(self.run_builtin(conversation, tools::find(&call.name)?, call).await)
    }

    async fn call_server(&self, name: &str, input: Value) -> ToolFinish {
        match self.servers.call(name, input).await {
            Ok(called) => {
                let result = values::call_result(called.outcome);
                ToolFinish { ends_turn: called.ends_turn && !result.is_error(), ..ToolFinish::from(result) }
            }
            Err(ServerError::NoneConfigured) => CallResult::misuse(format!("No such tool available: {name}")).into(),
            Err(error) => CallResult::error(error.to_string()).into(),
        }
    }

    async fn reach(&self, conversation: &Conversation, call: Permitted, inside: Inside<'_>) -> ToolFinish {
        let name = call.name.as_str();
        if let Some(tool) = tools::find(name) {
            return self.run_builtin(conversation, tool, &call).await;
        }
        if is_servers_tool(name) {
            return self.call_server(name, call.input).await;
        }
        if let Some(tool) = self.servers.resource_tool(name) {
            let targets = Targets::default();
            let input = &call.input;
            let invocation = Invocation { tool_use_id: &call.tool_use_id, input, targets: &targets, run: None };
            return values::call_result(tools::run(&*tool, invocation, &conversation.tools()).await).into();
        }
        match name {
            "Skill" => self.load_skill(conversation, &call, inside).await,
            "WebSearch" => self.search(conversation, &call.input).await.into(),
            "ExitPlanMode" => self.end_plan(conversation, &call.input).await.into(),
            "EnterPlanMode" => {
                self.updates.change_mode(PermissionMode::Plan).await;
                plan::entered().into()
            }
            "SendMessage" => self.subagents.say(conversation, &call.tool_use_id, &call.input).await.into(),
            "ListAgents" => self.subagents.known.listed().into(),
            "ToolSearch" => tool_search::run(&conversation.toolset.borrow().findable(), &call.input).into(),
            ASK_USER => question::run(&call.input).into(),
            STRUCTURED_OUTPUT => structured::run(self.choices.setup().schema.as_deref(), call.input),
            name => match Family::of(name) {
                Some(Family::Worktree) => self.move_in_or_out(conversation, name, &call.input).await.into(),
                Some(Family::Schedule) => self.schedule.run(name, &call.input).into(),
                Some(Family::Tasks) => {
                    let may = async |moment, task: &Task| self.may_change_task(conversation, moment, task).await;
                    tasks::run(&self.task_list, name, &call.input, may).await
                }
                Some(Family::Messages) | None => CallResult::misuse(format!("No such tool available: {name}")).into(),
            },
        }
    }

    async fn run_builtin(&self, conversation: &Conversation, tool: &dyn Tool, call: &Permitted) -> ToolFinish {
        let targets = conversation.take_targets(&call.tool_use_id, &call.name);
        for target in targets.paths.iter().filter(|target| target.write) {
            self.checkpoints.before_write(&target.real);
        }
        let trace = self.options.observer.command_context(&conversation.role, &call.tool_use_id);
        let context = match trace.filter(|_| call.name == "Bash") {
            Some(parent) => conversation.tools_with("TRACEPARENT", Some(parent)),
            None => conversation.tools(),
        };
        let before = context.workspace.cwd();
        let invocation = Invocation {
            tool_use_id: &call.tool_use_id,
            input: &call.input,
            targets: &targets,
            run: call.run.as_deref(),
        };
        let outcome = tools::run(tool, invocation, &context).await;
        let now = context.workspace.cwd();
        if now != before {
            self.hooks.fire(conversation, &CwdChanged { old_cwd: &before, new_cwd: &now }).await;
        }
        values::call_result(outcome).into()
    }

    async fn load_skill(&self, conversation: &Conversation, call: &Permitted, inside: Inside<'_>) -> ToolFinish {
        let setup = self.choices.setup();
        let skill = match skill::called(&setup, &call.input) {
            Ok(skill) => skill,
            Err(error) => return CallResult::misuse(error.to_string()).into(),
        };
        let name = skill::name_of(&call.input).unwrap_or_default();
        let args = call.input["args"].as_str().unwrap_or_default();
        match self.skills.load(conversation, skill, args, &call.tool_use_id, inside).await {
            Ok(Loaded::Body(body)) => {
                let structured = json!({"success": true, "commandName": name});
                let result = CallResult::text(format!("Loading the skill {name}"), structured);
                ToolFinish { follow_up: Some(body), ..ToolFinish::from(result) }
            }
            Ok(Loaded::Answer(finished)) => {
                if finished.status == SubagentStatus::Stopped {
                    let _ = inside.early.send(Input::Interrupt(InterruptCause::Client)).await;
                }
                finished.result.into()
            }
            Err(error) => CallResult::error(error.to_string()).into(),
        }
    }

    async fn search(&self, conversation: &Conversation, input: &Value) -> CallResult {
        let made = self.web_searches.get();
        if made >= self.options.tools.web_searches {
            return CallResult::error(format!(
                "This session has made its {made} web searches. Go on with what you know."
            ));
        }
        self.web_searches.set(made + 1);
        let started = Instant::now();
        let query = input["query"].as_str().unwrap_or_default();
        let question = vec![json!({"role": "user", "content": format!("Search the web for: {query}")})];
        let tool = Some(search::api_tool(input));
        match self.model.ask_with(&conversation.model(), search::SYSTEM, question, tool).await {
            Ok(reply) => search::result(query, &reply, started.elapsed().as_secs_f64()),
            Err(failure) => CallResult::error(failure.message.clone()),
        }
    }

    async fn move_in_or_out(&self, conversation: &Conversation, name: &str, input: &Value) -> CallResult {
        if self.rules.mode() == PermissionMode::Plan {
            return CallResult::error("Nothing is made or moved in plan mode.");
        }
        match worktree::worktree_name(input) {
            Some(worktree) if name == "EnterWorktree" => self.worktrees.enter(conversation, worktree).await,
            _ => self.worktrees.leave(conversation, input).await,
        }
    }

    async fn end_plan(&self, conversation: &Conversation, input: &Value) -> CallResult {
        // Whoever approved may have chosen the mode to go on in.
        if self.rules.mode() == PermissionMode::Plan {
            self.updates.change_mode(plan::after_plan(self.options.permissions.mode)).await;
        }
        plan::run(input, !conversation.role.is_main())
    }

    /// Hooks may refuse a task, and refuse that it is done.
    async fn may_change_task(
        &self,
        conversation: &Conversation,
        moment: TaskMoment,
        task: &Task,
    ) -> Result<(), TaskRefused> {
        let (task_id, task_subject, task_description) = (&*task.id, &*task.subject, &*task.description);
        let answer = match moment {
            TaskMoment::Created => {
                self.hooks.fire(conversation, &TaskCreated { task_id, task_subject, task_description }).await
            }
            TaskMoment::Completed => {
                self.hooks.fire(conversation, &TaskCompleted { task_id, task_subject, task_description }).await
            }
        };
        match answer.blocked.clone().or_else(|| answer.stop.clone()) {
            Some(reason) => Err(TaskRefused { reason, stop: answer.stop }),
            None => Ok(()),
        }
    }
}

fn check_builtin(
    conversation: &Conversation,
    tool_use_id: &str,
    tool: &dyn Tool,
    input: Value,
) -> Result<Value, CallResult> {
    let name = &*tool.spec().name;
    let input = if conversation.take_check(tool_use_id) {
        input
    } else {
        tool.validate(name, &input).map_err(|error| CallResult::misuse(error.to_string()))?
    };
    // Resolved now and not when the model made the call: calls before this one may have changed where a path leads.
    let targets = tool.targets(&input, &conversation.tools().workspace);
    let targets = targets.map_err(|error| CallResult::error(error.to_string()))?;
    conversation.keep_targets(tool_use_id, name, targets);
    Ok(input)
}

/// Tells the client now and then that a long call is still running.
pub async fn with_heartbeat<T>(
    output: &Output,
    (tool_use_id, tool_name): (String, String),
    parent_tool_use_id: Option<String>,
    work: impl Future<Output = T>,
) -> T {
    let started = Instant::now();
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(HEARTBEAT) => {
                let progress = ToolProgress {
                    tool_use_id: tool_use_id.clone(),
                    tool_name: tool_name.clone(),
                    parent_tool_use_id: parent_tool_use_id.clone(),
                    elapsed_time_seconds: started.elapsed().as_secs(),
                    heartbeat: true,
                    ..ToolProgress::default()
                };
                output.send(Event::ToolProgress(progress)).await;
            }
        }
    }
}
