//! One session: its agent process, its options, its turn, and the prompts that wait for it.

mod asking;
mod choosing;
mod turning;

use super::options::{Options, commands};
use super::updates::Updates;
use super::{Capabilities, ChildKey, Launch, ServerOptions, ServerOutput, Timer};
use crate::rpc::{Pending, RpcError, notification, response};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;
use turning::{Prompt, Turn};
use wire::{ClientRequest, ControlResponse, Extra, Input, Line, McpSetServers};

/// Until an agent process has answered its first requests. MCP servers may take most of it.
const STARTUP: Duration = Duration::from_mins(1);

/// Of what a process said on standard error, in an error for the client.
const WORDS_MAX: usize = 500;

/// What a session may do to the outside.
pub(crate) struct Context<'a> {
    pub out: &'a mut Vec<ServerOutput>,
    pub asked: &'a mut Pending<PendingQuestion>,
    pub client: &'a Capabilities,
    pub options: &'a ServerOptions,
}

/// A request of ours to the client.
#[derive(Debug)]
pub(crate) struct PendingQuestion {
    pub child: ChildKey,
    /// The agent's own request that it stands for.
    request: String,
    what: asking::ClientQuestion,
}

/// How a session was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenKind {
    New,
    Load,
    Resume,
    Fork,
}

/// The client's request that opens the session.
#[derive(Debug)]
pub(crate) struct Opening {
    pub request: Value,
    pub how: OpenKind,
}

#[derive(Debug)]
enum Stage {
    /// The conversation is looked for.
    Finding(Opening, Box<Launch>),
    /// The agent process has this many questions to answer.
    Starting(Opening, usize),
    Ready,
    /// The agent process is dead, and why.
    Dead(String),
    Gone,
}

/// A request of ours to the agent process.
#[derive(Debug)]
enum Control {
    Initialize,
    Settings,
    Servers,
    Mode { request: Value, mode: String, as_option: bool },
    Model { request: Value, model: String, is_old: bool },
    Effort { request: Value, effort: String },
    Interrupt,
}

#[derive(Debug)]
pub(crate) struct Session {
    id: String,
    child: ChildKey,
    cwd: PathBuf,
    stage: Stage,
    controls: HashMap<String, Control>,
    control_count: u64,
    options: Options,
    commands: Vec<Value>,
    updates: Updates,
    turn: Option<Turn>,
    turns: u64,
    queue: VecDeque<Prompt>,
    /// The agent process is in a turn, a prompt's or one of its own.
    is_at_work: bool,
    /// Its agents in the background.
    agents: Vec<String>,
    has_title: bool,
}

impl Session {
    pub(crate) fn open(
        child: ChildKey,
        opening: Opening,
        launch: Launch,
        client: &Capabilities,
        options: &ServerOptions,
        out: &mut Vec<ServerOutput>,
    ) -> Self {
        let mut session = Self {
            id: launch.session.clone(),
            child,
            cwd: launch.cwd.clone(),
            stage: Stage::Ready,
            controls: HashMap::new(),
            control_count: 0,
            options: Options::new(options),
            commands: Vec::new(),
            updates: Updates::new(launch.cwd.clone(), client.clone()),
            turn: None,
            turns: 0,
            queue: VecDeque::new(),
            is_at_work: false,
            agents: Vec::new(),
            has_title: opening.how != OpenKind::New,
        };
        match launch.resume.clone() {
            Some(old) => {
                out.push(ServerOutput::Find { child, session: old, cwd: launch.cwd.clone() });
                session.stage = Stage::Finding(opening, Box::new(launch));
            }
            None => session.start(opening, launch, out),
        }
        session
    }

    pub(crate) fn child(&self) -> ChildKey {
        self.child
    }

    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Gone)
    }

    /// The conversation to go on with, or that there is none.
    pub(crate) fn found(&mut self, messages: Option<Vec<Value>>, context: &mut Context<'_>) {
        let Stage::Finding(opening, launch) = std::mem::replace(&mut self.stage, Stage::Gone) else { return };
        let Some(messages) = messages else {
            let session = launch.resume.unwrap_or_default();
            let answer = response(opening.request, Err(RpcError::no_session(&session)));
            return context.out.push(ServerOutput::ToClient(answer));
        };
        if opening.how == OpenKind::Load {
            for update in super::history::replay(&messages, &self.cwd, context.client) {
                self.send(update, context.out);
            }
        }
        self.start(opening, *launch, context.out);
    }

    fn start(&mut self, opening: Opening, launch: Launch, out: &mut Vec<ServerOutput>) {
        let servers = launch.servers.clone();
        out.push(ServerOutput::Start { child: self.child, launch });
        out.push(ServerOutput::After { child: self.child, timer: Timer::Startup, wait: STARTUP });
        self.control(Control::Initialize, &ClientRequest::Initialize(Box::default()), out);
        if !servers.is_empty() {
            let servers = McpSetServers { servers, ..McpSetServers::default() };
            self.control(Control::Servers, &ClientRequest::McpSetServers(servers), out);
        }
        self.control(Control::Settings, &ClientRequest::GetSettings(Extra::new()), out);
        self.stage = Stage::Starting(opening, self.controls.len());
    }

    fn control(&mut self, what: Control, request: &ClientRequest, out: &mut Vec<ServerOutput>) {
        self.control_count += 1;
        let id = format!("acp-{}", self.control_count);
        let line = Input::request(&id, request).to_line();
        self.controls.insert(id, what);
        out.push(ServerOutput::ToChild { child: self.child, line });
    }

    fn send(&self, update: Value, out: &mut Vec<ServerOutput>) {
        let mut params = json!({"sessionId": self.id});
        params["update"] = update;
        out.push(ServerOutput::ToClient(notification("session/update", params)));
    }

    fn reply(request: Value, result: Result<Value, RpcError>, out: &mut Vec<ServerOutput>) {
        out.push(ServerOutput::ToClient(response(request, result)));
    }

    /// A line of the agent process. What is no event is passed by.
    pub(crate) fn take_line(&mut self, line: &str, context: &mut Context<'_>) {
        let Ok(Some(line)) = Line::parse(line) else { return };
        match line.event {
            wire::Event::ControlResponse(answer) => self.control_answered(answer.response, context),
            wire::Event::ControlRequest(asked) => self.agent_asks(*asked, context),
            wire::Event::ControlCancelRequest(cancel) => self.agent_withdraws(&cancel.request_id, context),
            event => self.event(&event, context),
        }
    }

    fn control_answered(&mut self, answer: ControlResponse, context: &mut Context<'_>) {
        let Some(control) = answer.request_id().and_then(|id| self.controls.remove(id)) else { return };
        let result = answer.into_result();
        match control {
            Control::Initialize => {
                let Ok(payload) = &result else {
                    let words = result.err().flatten().unwrap_or_default();
                    return self.not_opened(RpcError::internal(format!("the agent did not start: {words}")), context);
                };
                self.options.set_models(&payload["models"]);
                self.commands = commands(&payload["commands"]);
                self.is_nearly_open(context);
            }
            Control::Settings => {
                if let Ok(report) = &result {
                    self.options.set_from_settings(report);
                }
                self.is_nearly_open(context);
            }
            Control::Servers => {
                self.tell_broken_servers(&result.unwrap_or_default(), context);
                self.is_nearly_open(context);
            }
            Control::Interrupt => {}
            chosen => self.choice_answered(chosen, result, context),
        }
    }

    /// A server that does not start costs its tools, not the session.
    fn tell_broken_servers(&self, payload: &Value, context: &mut Context<'_>) {
        if !context.client.notices {
            return;
        }
        for (server, why) in payload["errors"].as_object().into_iter().flatten() {
            let title = format!("The MCP server {server} did not start");
            let why = why.as_str().map_or_else(|| why.to_string(), str::to_owned);
            let notice = json!({"sessionUpdate": "notice", "severity": "warning", "title": title, "description": why});
            self.send(notice, context.out);
        }
    }

    fn is_nearly_open(&mut self, context: &mut Context<'_>) {
        let Stage::Starting(_, open) = &mut self.stage else { return };
        *open = open.saturating_sub(1);
        if *open > 0 {
            return;
        }
        let Stage::Starting(opening, _) = std::mem::replace(&mut self.stage, Stage::Ready) else { return };
        let mut result = json!({
            "modes": self.options.mode_state(),
            "models": self.options.model_state(),
            "configOptions": self.options.config_options(),
        });
        if matches!(opening.how, OpenKind::New | OpenKind::Fork) {
            result["sessionId"] = json!(self.id);
        }
        Self::reply(opening.request, Ok(result), context.out);
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": self.commands});
        self.send(update, context.out);
        self.next_prompt(context);
    }

    /// The session could not be opened, or its process never answered.
    pub(crate) fn not_opened(&mut self, error: RpcError, context: &mut Context<'_>) {
        let stage = std::mem::replace(&mut self.stage, Stage::Gone);
        context.out.push(ServerOutput::Stop { child: self.child });
        match stage {
            Stage::Finding(opening, _) | Stage::Starting(opening, _) => {
                Self::reply(opening.request, Err(error), context.out);
                self.drop_queue(context);
            }
            other => self.stage = other,
        }
    }

    /// The process is gone. Whatever waits for it is told.
    pub(crate) fn child_ended(&mut self, words: &str, context: &mut Context<'_>) {
        let words: String = words.trim().chars().take(WORDS_MAX).collect();
        let said = if words.is_empty() { String::new() } else { format!(": {words}") };
        let text = format!("the agent process of this session ended{said}");
        match self.stage {
            Stage::Finding(..) | Stage::Starting(..) => return self.not_opened(RpcError::internal(text), context),
            Stage::Dead(_) | Stage::Gone => return,
            Stage::Ready => {}
        }
        let text = format!("{text}. Load the session again, or create a new one.");
        self.stage = Stage::Dead(text.clone());
        self.withdraw_questions(context);
        for update in self.updates.close_calls() {
            self.send(update, context.out);
        }
        let controls: Vec<Control> = self.controls.drain().map(|(_, control)| control).collect();
        for control in controls {
            self.choice_answered(control, Err(Some(text.clone())), context);
        }
        self.fail_turns(&text, context);
    }

    pub(crate) fn elapsed(&mut self, timer: Timer, context: &mut Context<'_>) {
        match timer {
            Timer::Startup => {
                if matches!(self.stage, Stage::Starting(..)) {
                    let text = format!("the agent process did not answer within {} s", STARTUP.as_secs());
                    self.not_opened(RpcError::internal(text), context);
                }
            }
            Timer::CancelAnswer(turn) => self.answer_cancelled(turn, context),
            Timer::CancelKill(turn) => self.kill_cancelled(turn, context),
            Timer::LateTurn(turn) => self.answer_without_turn(turn, context),
        }
    }

    /// The client closes the session.
    pub(crate) fn end(&mut self, context: &mut Context<'_>) {
        if let Stage::Finding(opening, _) | Stage::Starting(opening, _) =
            std::mem::replace(&mut self.stage, Stage::Gone)
        {
            Self::reply(
                opening.request,
                Err(RpcError::internal("the session was closed before it was open")),
                context.out,
            );
        }
        self.withdraw_questions(context);
        for update in self.updates.close_calls() {
            self.send(update, context.out);
        }
        self.cancel_turns(context);
        context.out.push(ServerOutput::Stop { child: self.child });
    }
}
