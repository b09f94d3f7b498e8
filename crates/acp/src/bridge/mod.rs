//! An ACP agent that looks like `claude` on a pipe, so that the loop can run it.
//!
//! [`Bridge::step`] takes lines of the loop and of the agent and returns lines for both. Nobody sits in front of it:
//! permission questions are answered by the mode, by kind, once, and never for ever. Deliberately absent: the client's
//! `fs` and `terminal` methods, which are not advertised and are refused.

mod calls;
mod failure;
mod opening;
mod outcome;
mod permission;
mod turn;

pub use permission::Decision;

use crate::rpc::{Message, Pending, RpcError, code, notification, request, response};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use turn::Turn;
use wire::{ClientRequest, ControlResponse, Event, Input, Outcome, System, encode};

/// Prompts that wait for their turn.
const QUEUE_MAX: usize = 64;

#[derive(Debug, Clone, Default)]
pub struct BridgeOptions {
    /// What people call the agent.
    pub name: String,
    pub cwd: PathBuf,
    /// The model that the loop asks for. An agent that does not list it keeps its own, and that is said.
    pub model: Option<String>,
    pub decision: Decision,
    /// The session to go on with.
    pub resume: Option<String>,
    /// Pieces of messages are wanted.
    pub is_partial: bool,
    pub version: String,
}

#[derive(Debug)]
pub enum BridgeInput {
    /// A line of the loop.
    Loop(Vec<u8>),
    LoopEnded,
    /// A line of the agent.
    Agent(Vec<u8>),
    /// With the end of what it said on standard error.
    AgentEnded(String),
    /// The agent did not open a session in time.
    StartOverdue,
    /// The agent did not end a cancelled turn in time.
    CancelOverdue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BridgeOutput {
    /// A line, newline included.
    ToLoop(Vec<u8>),
    ToAgent(Value),
    /// [`BridgeInput::CancelOverdue`] is wanted.
    WatchCancel,
    /// The agent is to be killed with all it started. Whether the last turn was a success.
    Stop {
        is_success: bool,
    },
}

/// What we asked the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingRequest {
    Initialize,
    Authenticate,
    Open,
    Model,
    Prompt,
    Steering,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Ready,
    Over,
}

pub struct Bridge {
    options: BridgeOptions,
    ids: Box<dyn FnMut() -> String>,
    stage: Stage,
    asked: Pending<PendingRequest>,
    opening: opening::Opening,
    session: String,
    /// What the agent says that it is; the loop's wish until then.
    model: Option<String>,
    queue: VecDeque<Vec<Value>>,
    turn: Option<Turn>,
    turns: u64,
    has_input_ended: bool,
    is_success: bool,
    cost: outcome::Cost,
    out: Vec<BridgeOutput>,
}

impl Bridge {
    /// `ids` makes the uuids of events. The first outputs come from [`Bridge::start`].
    pub fn new(options: BridgeOptions, ids: impl FnMut() -> String + 'static) -> Self {
        Self {
            session: options.resume.clone().unwrap_or_default(),
            options,
            ids: Box::new(ids),
            stage: Stage::Opening,
            asked: Pending::default(),
            opening: opening::Opening::default(),
            model: None,
            queue: VecDeque::new(),
            turn: None,
            turns: 0,
            has_input_ended: false,
            is_success: false,
            cost: outcome::Cost::default(),
            out: Vec::new(),
        }
    }

    pub fn start(&mut self) -> Vec<BridgeOutput> {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "ralph", "title": "Ralph", "version": self.options.version},
        });
        self.ask(PendingRequest::Initialize, "initialize", params);
        std::mem::take(&mut self.out)
    }

    pub fn step(&mut self, input: BridgeInput) -> Vec<BridgeOutput> {
        if self.stage == Stage::Over {
            return Vec::new();
        }
        match input {
            BridgeInput::Loop(line) => self.loop_line(&line),
            BridgeInput::LoopEnded => {
                self.has_input_ended = true;
                self.stop_if_idle();
            }
            BridgeInput::Agent(line) => self.agent_line(&line),
            BridgeInput::AgentEnded(words) => {
                let said = if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) };
                self.fail(None, &format!("{} ended{said}", self.options.name.clone()));
            }
            BridgeInput::StartOverdue if self.stage == Stage::Opening => {
                self.fail(None, &format!("{} did not open a session in time", self.options.name.clone()));
            }
            BridgeInput::CancelOverdue if self.turn.as_ref().is_some_and(Turn::is_cancelled) => {
                self.fail(None, &format!("{} did not stop when it was told to", self.options.name.clone()));
            }
            BridgeInput::StartOverdue | BridgeInput::CancelOverdue => {}
        }
        std::mem::take(&mut self.out)
    }

    fn ask(&mut self, what: PendingRequest, method: &str, params: Value) {
        match self.asked.add(what) {
            Some(id) => self.out.push(BridgeOutput::ToAgent(request(id, method, params))),
            None => self.fail(None, "the agent answers no requests"),
        }
    }

    fn emit(&mut self, event: &Event) {
        let uuid = (self.ids)();
        self.out.push(BridgeOutput::ToLoop(encode(event, &self.session, &uuid, false)));
    }

    fn emit_all(&mut self, events: Vec<Event>) {
        for event in events {
            self.emit(&event);
        }
    }

    fn tell(&mut self, text: impl Into<String>) {
        self.emit(&Event::System(System::informational(text, "warning")));
    }

    fn loop_line(&mut self, line: &[u8]) {
        match Input::parse(line) {
            Ok(Some(Input::User(user))) => self.prompt(&user.message.content),
            Ok(Some(Input::ControlRequest { request_id, request })) => self.control(request_id, &request),
            _ => {}
        }
    }

    fn prompt(&mut self, content: &Value) {
        let prompt = turn::prompt_blocks(content);
        if self.turn.is_some() && self.opening.takes_steering {
            let params = json!({"sessionId": self.session, "prompt": prompt});
            self.ask(PendingRequest::Steering, "_session/steering", params);
            return;
        }
        if self.queue.len() >= QUEUE_MAX {
            return self.tell(format!("{QUEUE_MAX} messages wait for the agent; one more was dropped"));
        }
        self.queue.push_back(prompt);
        self.next_prompt();
    }

    fn next_prompt(&mut self) {
        if self.stage != Stage::Ready || self.turn.is_some() {
            return;
        }
        let Some(prompt) = self.queue.pop_front() else { return };
        self.turns += 1;
        let model = self.model.clone().unwrap_or_default();
        self.turn = Some(Turn::new(self.turns, model, self.options.is_partial));
        self.emit_init();
        let params = json!({"sessionId": self.session, "prompt": prompt});
        self.ask(PendingRequest::Prompt, "session/prompt", params);
    }

    fn control(&mut self, id: String, request: &Value) {
        let Value::Object(map) = request.clone() else { return };
        let answer = match <ClientRequest as wire::FromMap>::from_map(map) {
            ClientRequest::Initialize(_) => {
                ControlResponse::success(id, json!({"commands": [], "agents": [], "models": []}))
            }
            ClientRequest::Interrupt(_) => {
                self.cancel();
                ControlResponse::success(id, json!({"still_queued": []}))
            }
            _ => ControlResponse::unsupported(id, "an ACP agent has no such request"),
        };
        self.emit(&Event::control_response(answer));
    }

    fn cancel(&mut self) {
        self.queue.clear();
        if let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_cancelled()) {
            turn.cancel();
            let message = notification("session/cancel", json!({"sessionId": self.session}));
            self.out.push(BridgeOutput::ToAgent(message));
            self.out.push(BridgeOutput::WatchCancel);
        }
    }

    fn agent_line(&mut self, line: &[u8]) {
        match Message::parse(line) {
            Ok(Some(Message::Notification { method, params })) if method == "session/update" => self.update(&params),
            // Some agents print words for people, too.
            Ok(None | Some(Message::Notification { .. })) | Err(_) => {}
            Ok(Some(Message::Request { id, method, params })) => self.agent_asks(id, &method, &params),
            Ok(Some(Message::Response { id, result })) => match self.asked.take(&id) {
                Some(PendingRequest::Prompt) => self.prompt_answered(&result),
                Some(PendingRequest::Steering) => self.steering_answered(&result),
                Some(other) => self.opening_answered(other, result),
                None => {}
            },
        }
    }

    /// Updates of other sessions, and those that come before the first prompt, are no part of a turn.
    fn update(&mut self, params: &Value) {
        let update = &params["update"];
        self.cost.update(update, self.turn.is_some());
        if let Some(model) = opening::current_model(update) {
            self.model = Some(model);
        }
        if let Some(turn) = &mut self.turn {
            let events = turn.update(update);
            self.emit_all(events);
        }
    }

    fn agent_asks(&mut self, id: Value, method: &str, params: &Value) {
        let result = match method {
            "session/request_permission" => Ok(self.permission(params)),
            other => Err(RpcError::new(code::NO_METHOD, format!("there is no method {other}"))),
        };
        self.out.push(BridgeOutput::ToAgent(response(id, result)));
    }

    fn permission(&mut self, params: &Value) -> Value {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_cancelled()) else {
            return json!({"outcome": {"outcome": "cancelled"}});
        };
        let events = turn.asked(&params["toolCall"]);
        let kind = turn.kind_of(&params["toolCall"]);
        let (outcome, is_allowed) = permission::answer(&params["options"], self.options.decision, &kind);
        let denied = (!is_allowed).then(|| turn.denied(&params["toolCall"], self.options.decision)).flatten();
        self.emit_all(events);
        self.emit_all(denied.into_iter().collect());
        json!({"outcome": outcome})
    }

    fn steering_answered(&mut self, result: &Result<Value, RpcError>) {
        let outcome = result.as_ref().ok().and_then(|result| result["outcome"].as_str()).unwrap_or("refused");
        if !matches!(outcome, "injected" | "startedNewTurn") {
            self.tell(format!("a message did not reach the agent ({outcome})"));
        }
    }

    fn prompt_answered(&mut self, result: &Result<Value, RpcError>) {
        let Some(mut turn) = self.turn.take() else { return };
        let events = turn.end();
        self.emit_all(events);
        let outcome = outcome::of_turn(&turn, result, &self.cost, self.model.as_deref());
        self.finish(outcome);
        self.next_prompt();
        self.stop_if_idle();
    }

    fn finish(&mut self, outcome: Outcome) {
        self.is_success = !outcome.is_error();
        if let Some(event) = outcome::failed_message(&outcome) {
            self.emit(&event);
        }
        self.emit(&Event::Result(Box::new(outcome)));
    }

    /// The agent is of no more use: one result, and the end.
    fn fail(&mut self, status: Option<u16>, text: &str) {
        if let Some(mut turn) = self.turn.take() {
            let events = turn.end();
            self.emit_all(events);
        } else if self.turns == 0 {
            self.emit_init();
        }
        self.finish(outcome::failure(status, text));
        self.stop();
    }

    fn stop_if_idle(&mut self) {
        if self.has_input_ended && self.turn.is_none() && self.queue.is_empty() && self.stage == Stage::Ready {
            self.stop();
        }
    }

    fn stop(&mut self) {
        self.stage = Stage::Over;
        self.out.push(BridgeOutput::Stop { is_success: self.is_success });
    }
}

#[cfg(test)]
#[path = "bridge_tests.rs"]
mod tests;
