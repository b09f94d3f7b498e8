//! What a client asks of a session beside its prompts, at any moment.
//!
//! Deliberately absent: the lines that carry requests and answers (`stdio`), and our own questions to the client (`output::ClientAsker`).

mod aside;
mod error;
mod files;
mod initialize;
mod plugins;
mod reload;
mod roots;
mod servers;
mod usage;

use crate::Options;
use crate::flag_settings::FlagSettings;
use crate::model_asker::ModelAsker;
use crate::model_switcher::ModelSwitcher;
use context::ToolResources;
use conversation::rules::Rules;
use conversation::{Conversation, HookRunner, MainMachine, Memories, Updates};
use error::RequestError;
use mcp::SessionServers;
use model::Ledger;
use options::Choices;
use output::{Output, Secrets, Transcripts};
use serde_json::{Value, json};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tools::{Checkpoints, TaskError, Tasks, rewind};
use turn::{InterruptCause, Recall};
use wire::{ControlResponse, Event, PermissionMode};

/// A stopped task gets this long to be gone before the client is answered.
const STOP_WAIT: Duration = Duration::from_secs(2);

pub struct Requests {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub secrets: Secrets,
    pub ledger: Rc<Ledger>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub updates: Rc<Updates>,
    pub servers: Rc<SessionServers>,
    pub hooks: Rc<HookRunner>,
    pub machine: Rc<MainMachine>,
    pub main: Rc<Conversation>,
    pub resources: Rc<ToolResources>,
    pub memories: Rc<Memories>,
    pub transcripts: Rc<Transcripts>,
    pub checkpoints: Rc<Checkpoints>,
    pub models: Rc<ModelSwitcher>,
    pub flags: Rc<FlagSettings>,
    pub model: Rc<ModelAsker>,
}

impl Requests {
    /// Answers one request. Exactly one response goes out for it, at once or when the work is done.
    pub async fn handle(self: &Rc<Self>, request_id: String, request: Value) {
        let subtype = request["subtype"].as_str().unwrap_or_default();
        // What waits for hooks may wait for a line that the client has still to write; the next turn waits for it.
        if changes_model(subtype, &request) && self.models.waits_for_hooks() {
            let requests = Rc::clone(self);
            self.hooks.between.begin();
            tokio::task::spawn_local(async move {
                let answer = requests.answer(&request).await;
                requests.hooks.between.end();
                requests.respond(&request_id, answer).await;
            });
            return;
        }
        // What talks to servers may take long and must not hold up the lines behind it.
        if subtype.starts_with("mcp_") && subtype != "mcp_status" {
            let requests = Rc::clone(self);
            tokio::task::spawn_local(async move {
                let answer = servers::answer(&requests.servers, &request).await;
                requests.respond(&request_id, answer).await;
            });
            return;
        }
        if aside::is_aside(subtype) {
            let requests = Rc::clone(self);
            tokio::task::spawn_local(async move {
                let answer = aside::answer(&requests, &request).await;
                requests.respond(&request_id, answer).await;
            });
            return;
        }
        let answer = self.answer(&request).await;
        self.respond(&request_id, answer).await;
        // Clients take the answer first, then the event that tells everybody.
        self.machine.send_waiting().await;
    }

    async fn respond(&self, request_id: &str, answer: Result<Value, RequestError>) {
        let response = match answer {
            Ok(payload) => ControlResponse::success(request_id, payload),
            Err(error @ RequestError::Unsupported(_)) => ControlResponse::unsupported(request_id, error.to_string()),
            Err(error) => ControlResponse::error(request_id, error.to_string()),
        };
        self.output.send(Event::control_response(response)).await;
    }

    async fn answer(&self, request: &Value) -> Result<Value, RequestError> {
        let (options, choices) = (&*self.options, &*self.choices);
        let answer: Result<Value, String> = match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => self.initialize(request),
            "interrupt" => Ok(interrupt(&self.machine, request)),
            "cancel_async_message" => Ok(take_back(&self.machine, request)),
            "set_permission_mode" => set_mode(&self.rules, &self.updates, &self.machine, request),
            "register_repo_root" => roots::register(options, &self.rules, &self.hooks, request),
            "set_max_thinking_tokens" => set_thinking(options, choices, request),
            "set_model" => self.models.set_model(&request["model"]).await,
            "apply_flag_settings" => self.flags.apply(&request["settings"]).await,
            "get_settings" => Ok(settings(options, choices)),
            "get_context_usage" => Ok(usage::context(options, choices, &self.servers, &self.memories, &self.main)),
            "mcp_status" => Ok(servers::status(&self.servers)),
            "stop_task" => stop_task(&self.resources.tasks, request).await,
            "background_tasks" => background(options, &self.resources.tasks, request),
            "rewind_files" => rewind_files(&self.checkpoints, &self.main.tools(), request),
            "reload_skills" => Ok(reload::skills(options, choices)),
            "reload_plugins" => reload::plugins(options, choices, &self.hooks, &self.servers, request),
            "reload_output_styles" => Ok(reload::output_styles(options, choices)),
            "read_file" => files::read(&self.rules, &self.main, &self.secrets, request),
            "seed_read_state" => files::seed(&self.main, request),
            "get_task_output" => files::task_output(&self.resources.tasks, &self.secrets, request),
            "rename_session" => rename(&self.output, &self.transcripts, request),
            "get_binary_version" => Ok(json!({"version": options.version})),
            "list_models" => Ok(json!({"models": model::listing(&options.asking.model_env)})),
            "get_usage" => Ok(self.ledger.shown()),
            "get_session_cost" => Ok(json!({"total_cost_usd": self.ledger.total_usd()})),
            other => return Err(RequestError::Unsupported(other.to_owned())),
        };
        Ok(answer?)
    }

    fn initialize(&self, request: &Value) -> Result<Value, String> {
        let handles = initialize::Handles {
            options: &self.options,
            choices: &self.choices,
            hooks: &self.hooks,
            servers: &self.servers,
            transcripts: &self.transcripts,
            models: &self.models,
        };
        initialize::apply(&handles, request)
    }
}

/// Hooks may be asked about it. They may live in the client, so the lines that it goes on writing must not wait for the answer.
fn changes_model(subtype: &str, request: &Value) -> bool {
    match subtype {
        "set_model" => true,
        "apply_flag_settings" => request["settings"].get("model").is_some(),
        _ => false,
    }
}

/// Ends the running turn, and says which prompts still wait.
fn interrupt(machine: &MainMachine, request: &Value) -> Value {
    let answer = if request["cancel_queued"] == true {
        let (_, taken_back) = machine.recall(Recall::All);
        json!({"still_queued": [], "cancelled": taken_back})
    } else {
        json!({"still_queued": machine.recall(Recall::List).0})
    };
    machine.interrupt(InterruptCause::Client);
    answer
}

fn take_back(machine: &MainMachine, request: &Value) -> Value {
    let named = request["message_uuid"].as_str().map(|id| machine.recall(Recall::One(id.to_owned())).1);
    json!({"cancelled": named.is_some_and(|taken_back| !taken_back.is_empty())})
}

fn set_mode(rules: &Rules, updates: &Updates, machine: &MainMachine, request: &Value) -> Result<Value, String> {
    let name = request["mode"].as_str().ok_or("set_permission_mode needs \"mode\", a string")?;
    let mode = PermissionMode::parse(name)
        .ok_or_else(|| format!("unknown permission mode '{name}'; known: {}", PermissionMode::NAMES.join(", ")))?;
    if !rules.may_enter(mode) {
        let auto = "the permission mode auto is switched off by the settings (disableAutoMode)";
        let bypass =
            "bypassPermissions needs --dangerously-skip-permissions or --allow-dangerously-skip-permissions at start";
        return Err(if mode == PermissionMode::Auto { auto } else { bypass }.into());
    }
    machine.let_wait(updates.enter_mode(mode));
    Ok(json!({"mode": mode.as_str()}))
}

fn set_thinking(options: &Options, choices: &Choices, request: &Value) -> Result<Value, String> {
    let own = &options.asking.thinking;
    let mut thinking = choices.thinking_mut();
    match request.get("max_thinking_tokens") {
        None => {}
        Some(Value::Null) => thinking.flag_budget = own.flag_budget,
        Some(number) => {
            let budget = number.as_u64().ok_or("max_thinking_tokens must be a whole number or null")?;
            thinking.flag_budget = Some(budget);
        }
    }
    match request.get("thinking_display") {
        None => {}
        Some(Value::Null) => thinking.display.clone_from(&own.display),
        Some(display) => {
            let known = display.as_str().filter(|display| ["summarized", "omitted"].contains(display));
            thinking.display = Some(known.ok_or("thinking_display must be summarized, omitted or null")?.to_owned());
        }
    }
    Ok(json!({}))
}

fn settings(options: &Options, choices: &Choices) -> Value {
    json!({
        "effective": options.settings.merged,
        "sources": [],
        "applied": {"model": choices.model(), "effort": choices.effort()},
    })
}

fn rename(output: &Output, transcripts: &Transcripts, request: &Value) -> Result<Value, String> {
    let title = request["title"].as_str().ok_or("rename_session needs \"title\", a string")?;
    let meant = request["session_id"].as_str().is_none_or(|id| id == output.session_id());
    if !meant {
        return Err("the session with this id is over; another one has begun since".into());
    }
    transcripts.name_session(title).ok_or("the title is empty")?;
    Ok(json!({}))
}

fn rewind_files(checkpoints: &Checkpoints, tools: &tools::ToolContext, request: &Value) -> Result<Value, String> {
    let may_write = |path: &Path| match tools.shell.fence() {
        Some(fence) => fence.may_write(path).map_err(|why| why.to_string()),
        None => Ok(()),
    };
    rewind(checkpoints, &tools.workspace, &may_write, request)
}

/// Commands that are waited for go on by themselves; agents are still waited for.
fn background(options: &Options, tasks: &Tasks, request: &Value) -> Result<Value, String> {
    if !options.tools.shell.background_allowed {
        return Err("background tasks are switched off for this session".into());
    }
    let left = tasks.leave_alone(request["tool_use_id"].as_str());
    Ok(json!({"backgrounded": left}))
}

async fn stop_task(tasks: &Tasks, request: &Value) -> Result<Value, String> {
    let id = request["task_id"].as_str().ok_or("stop_task needs \"task_id\", a string")?;
    match tasks.stop(id, STOP_WAIT).await {
        // What is not there any more has stopped.
        Ok(_) | Err(TaskError::Unknown(_)) => Ok(json!({})),
        Err(error) => Err(error.to_string()),
    }
}
