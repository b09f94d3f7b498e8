//! The rules of a conversation, checked after every step of one machine.

use crate::answers::SECRET;
use crate::request;
use policy::Verdict;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use turn::{
    AgentWait, Effect, Hook, HookAnswer, HookDecision, Input, Limits, Now, PermissionAnswer, STRUCTURED_OUTPUT, Ticket,
    Turn,
};
use wire::Event;

/// Answers that a machine may still take between an interrupt and its result: what runs, what a stream still brings, and the
/// hooks of a turn that has just begun.
const STEPS_AFTER_INTERRUPT: usize = 40;

/// What was seen of one machine.
#[derive(Debug, Default)]
pub struct Facts {
    pub is_open: bool,
    is_closing: bool,
    /// The result has left in this very step.
    has_just_ended: bool,
    answers: u32,
    schema_failures: u32,
    stop_blocks: u32,
    since_interrupt: Option<usize>,
    may_resend: bool,
    /// Calls that clients have seen and whose results they wait for, in order, with the tool's name.
    shown: VecDeque<(String, String)>,
    calls: HashMap<String, CallFacts>,
    asked: HashMap<Ticket, Asked>,
    /// Text that the next request must hold.
    prompt: Option<String>,
    pub begun: usize,
    pub accepted: usize,
    pub recalled: usize,
}

#[derive(Debug, Default)]
struct CallFacts {
    /// As checked last.
    input: Option<Value>,
    is_refused: bool,
    is_permitted: bool,
    wish: Option<HookDecision>,
    /// The text that the rules have allowed.
    run: Option<String>,
    has_run: bool,
}

#[derive(Debug, Clone)]
enum Asked {
    Check(String),
    PreHook(String),
    Judge(String),
    Permission(String),
    Stop,
    Agent,
}

type Checked = Result<(), String>;

fn rule(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}

impl Facts {
    /// An input is about to be taken.
    pub fn hear(&mut self, input: &Input) -> Checked {
        self.has_just_ended = false;
        if self.is_open
            && is_answer(input)
            && let Some(steps) = &mut self.since_interrupt
        {
            *steps += 1;
            let steps = *steps;
            rule(steps <= STEPS_AFTER_INTERRUPT, || "an interrupted turn does not come to its end".into())?;
        }
        match input {
            Input::Interrupt(_) => self.interrupted(),
            Input::AgentFinished { ticket, stopped, .. } if self.asked.remove(ticket).is_some() && *stopped => {
                self.interrupted();
            }
            Input::Close { .. } => {
                self.is_open = false;
                self.is_closing = true;
            }
            Input::Task(_) => self.begin(),
            Input::AnswerFinished { answer, .. } => {
                self.answers += 1;
                self.may_resend = answer.stop_reason.as_deref() == Some("pause_turn");
            }
            Input::InputChecked { ticket, checked } => {
                if let Some(Asked::Check(id)) = self.asked.remove(ticket) {
                    let call = self.calls.entry(id).or_default();
                    match checked {
                        Ok(input) => call.input = Some(input.clone()),
                        Err(_) => call.is_refused = true,
                    }
                }
            }
            Input::HookAnswered { ticket, answer } => self.hear_hook(*ticket, answer),
            Input::Judged { ticket, decision, .. } => {
                if let Some(Asked::Judge(id)) = self.asked.remove(ticket) {
                    let call = self.calls.entry(id).or_default();
                    match decision.verdict {
                        Verdict::Deny => call.is_refused = true,
                        Verdict::Allow => {
                            call.is_permitted = call.wish != Some(HookDecision::Ask);
                            call.run = decision.run.clone().filter(|_| call.is_permitted);
                        }
                        Verdict::Ask => {
                            call.is_permitted =
                                call.wish == Some(HookDecision::Allow) && decision.reason_type != "rule";
                        }
                    }
                }
            }
            Input::PermissionAnswered { ticket, answer } => {
                if let Some(Asked::Permission(id)) = self.asked.remove(ticket) {
                    match answer {
                        PermissionAnswer::Answer(answer) => self.hear_permission(id, answer),
                        _ => self.calls.entry(id).or_default().is_refused = true,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn hear_hook(&mut self, ticket: Ticket, answer: &HookAnswer) {
        match self.asked.remove(&ticket) {
            Some(Asked::PreHook(id)) => {
                let call = self.calls.entry(id).or_default();
                call.wish = answer.decision;
                let is_denied = answer.decision == Some(HookDecision::Deny);
                call.is_refused |= answer.stop.is_some() || answer.blocked.is_some() || is_denied;
            }
            Some(Asked::Permission(id)) => {
                if let Some(permission) = &answer.permission {
                    self.hear_permission(id, permission);
                }
            }
            Some(Asked::Stop) if answer.stop.is_none() && answer.blocked.is_some() => self.stop_blocks += 1,
            _ => {}
        }
    }

    fn hear_permission(&mut self, id: String, answer: &Value) {
        let call = self.calls.entry(id).or_default();
        if answer["behavior"] == "allow" {
            call.is_permitted = true;
        } else {
            call.is_refused = true;
            if answer["interrupt"] == true {
                self.interrupted();
            }
        }
    }

    fn interrupted(&mut self) {
        if self.is_open {
            self.since_interrupt.get_or_insert(0);
        }
    }

    fn begin(&mut self) {
        self.is_open = true;
        self.answers = 0;
        self.schema_failures = 0;
        self.stop_blocks = 0;
        self.since_interrupt = None;
        self.prompt = None;
        self.may_resend = false;
    }

    /// One effect of the step.
    pub fn see(&mut self, effect: &Effect, turn: &Turn, limits: &Limits, now: Now) -> Checked {
        rule(!self.has_just_ended || matches!(effect, Effect::Recalled { .. }), || {
            format!("after the result came {}", short(effect))
        })?;
        self.see_order(effect)?;
        match effect {
            Effect::Prepare { .. } => {
                self.begun += 1;
                self.begin();
            }
            Effect::Recalled { taken_back, .. } => self.recalled += taken_back.len(),
            Effect::CheckInput { ticket, tool_use_id, .. } => self.ask(*ticket, Asked::Check(tool_use_id.clone())),
            Effect::Judge { ticket, tool_use_id, .. } => self.ask(*ticket, Asked::Judge(tool_use_id.clone())),
            Effect::AskPermission { ticket, question } => {
                self.ask(*ticket, Asked::Permission(question.tool_use_id.clone()));
            }
            Effect::FireHook { ticket, hook } => self.see_hook(*ticket, hook),
            Effect::RunTool { tool_use_id, input, run, .. } => {
                self.see_run(tool_use_id, input)?;
                let judged = self.calls.get(tool_use_id).and_then(|call| call.run.as_ref());
                rule(judged == run.as_ref(), || format!("{tool_use_id} runs {run:?} where {judged:?} was judged"))?;
            }
            Effect::StartAgent { ticket, tool_use_id, input, wait } => {
                let background = &turn.settings().background;
                let is_wished = match wait {
                    AgentWait::ToTheEnd => true,
                    AgentWait::Briefly => background.is_default && !input["run_in_background"].is_boolean(),
                    AgentWait::No => input["run_in_background"] == true,
                };
                let may = *wait == AgentWait::ToTheEnd || turn.role().is_main() && background.is_allowed;
                rule(is_wished && may, || format!("{tool_use_id} is left in the background by nobody's wish"))?;
                self.ask(*ticket, Asked::Agent);
                self.see_run(tool_use_id, input)?;
            }
            // The answer does not count any more.
            Effect::Cancel { ticket } => drop(self.asked.remove(ticket)),
            Effect::AskModel { question, .. } => self.see_request(&question.messages, limits, now)?,
            Effect::Summarise { messages, .. } => {
                let problem = request::problem(messages, false);
                rule(problem.is_none(), || format!("a request for a summary: {}", problem.unwrap_or_default()))?;
            }
            Effect::Emit { event, .. } => self.see_event(event)?,
            Effect::EndTurn { .. } | Effect::EndTask { .. } => self.see_end(turn)?,
            _ => {}
        }
        Ok(())
    }

    /// Nothing happens outside of a turn, and nothing new is begun after an interrupt.
    fn see_order(&self, effect: &Effect) -> Checked {
        let is_quiet = match effect {
            Effect::Prepare { .. } | Effect::Recalled { .. } | Effect::AnswerInner { .. } | Effect::Cancel { .. } => {
                true
            }
            Effect::Emit { event, .. } => match &**event {
                Event::System(wire::System::Status { .. }) => true,
                // The turn that begins with it is prepared next.
                Event::User(user) => user.is_replay == Some(true),
                _ => false,
            },
            _ => self.is_closing,
        };
        let is_start = matches!(effect, Effect::Append(_)) && self.begun == 0;
        rule(self.is_open || is_quiet || is_start, || format!("{} while no turn runs", short(effect)))?;
        let begins = matches!(
            effect,
            Effect::AskModel { .. }
                | Effect::Summarise { .. }
                | Effect::RunTool { .. }
                | Effect::StartAgent { .. }
                | Effect::AskPermission { .. }
        );
        rule(!(begins && self.since_interrupt.is_some()), || format!("{} after an interrupt", short(effect)))
    }

    fn ask(&mut self, ticket: Ticket, asked: Asked) {
        self.asked.insert(ticket, asked);
    }

    fn see_hook(&mut self, ticket: Ticket, hook: &Hook) {
        match hook {
            Hook::PreToolUse { tool_use_id, .. } => self.ask(ticket, Asked::PreHook(tool_use_id.clone())),
            Hook::PermissionRequest { tool_use_id, .. } => self.ask(ticket, Asked::Permission(tool_use_id.clone())),
            Hook::Stop { .. } | Hook::SubagentStop { .. } => self.ask(ticket, Asked::Stop),
            Hook::UserPromptSubmit { prompt } if prompt.starts_with("prompt ") => self.prompt = Some(prompt.clone()),
            _ => {}
        }
    }

    /// What runs was permitted, once, and has the input that hooks and the client last set.
    fn see_run(&mut self, id: &str, input: &Value) -> Checked {
        let call = self.calls.entry(id.to_owned()).or_default();
        rule(!call.is_refused, || format!("{id} runs although it was refused"))?;
        rule(call.is_permitted, || format!("{id} runs without a permission"))?;
        rule(call.input.as_ref() == Some(input), || {
            format!("{id} runs with {input} instead of {}", call.input.clone().unwrap_or_default())
        })?;
        rule(!call.has_run, || format!("{id} runs twice"))?;
        call.has_run = true;
        Ok(())
    }

    fn see_request(&mut self, messages: &[Value], limits: &Limits, now: Now) -> Checked {
        let problem = request::problem(messages, self.may_resend);
        rule(problem.is_none(), || format!("a request: {}", problem.unwrap_or_default()))?;
        rule(limits.max_answers.is_none_or(|most| self.answers < most), || {
            format!("a question after {} answers", self.answers)
        })?;
        rule(limits.budget_usd.is_none_or(|most| now.spent_usd < most), || {
            format!("a question after {} USD", now.spent_usd)
        })?;
        rule(self.schema_failures == 0 || self.schema_failures < limits.schema_retries, || {
            format!("a question after {} answers that do not fit the schema", self.schema_failures)
        })?;
        rule(self.stop_blocks <= limits.stop_blocks, || {
            format!("Stop hooks sent the model on {} times", self.stop_blocks)
        })?;
        rule(self.shown.is_empty(), || format!("a question while clients wait for the results of {:?}", self.shown))?;
        if let Some(prompt) = self.prompt.take() {
            let is_there = messages.iter().any(|message| holds(&message["content"], &prompt));
            rule(is_there, || format!("the request does not hold {prompt:?}"))?;
        }
        Ok(())
    }

    /// Every call that clients have seen gets one result, in order, without secrets.
    fn see_event(&mut self, event: &Event) -> Checked {
        match event {
            Event::Assistant(assistant) => {
                let block = &assistant.message.0["content"][0];
                if block["type"] == "tool_use" {
                    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                    self.shown.push_back((text("id"), text("name")));
                }
                Ok(())
            }
            Event::User(user) if user.is_replay == Some(true) => Ok(()),
            Event::User(user) => {
                let block = &user.message.0["content"][0];
                if block["type"] != "tool_result" {
                    return Ok(());
                }
                rule(!holds(&user.message.0, SECRET), || "a result shows a secret".into())?;
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let next = self.shown.pop_front();
                let expected = next.as_ref().map(|(id, _)| id.as_str());
                rule(expected == Some(id), || format!("the result of {id} came where that of {expected:?} was due"))?;
                let is_structured = next.is_some_and(|(_, name)| name == STRUCTURED_OUTPUT);
                self.schema_failures += u32::from(is_structured && block["is_error"] == true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn see_end(&mut self, turn: &Turn) -> Checked {
        rule(self.is_open, || "a result without a turn".into())?;
        self.is_open = false;
        self.has_just_ended = true;
        self.since_interrupt = None;
        let deferred = turn.deferred().map(|call| call.id.clone());
        self.shown.retain(|(id, _)| Some(id) == deferred.as_ref());
        // A call that was put off is judged anew.
        if let Some(id) = &deferred {
            self.calls.remove(id);
        }
        let open = request::unanswered(&turn.messages());
        let is_answered = deferred.as_ref().is_some_and(|id| !open.contains(id));
        rule(!is_answered, || "a call that was put off has a result".into())?;
        rule(open.iter().all(|id| Some(id) == deferred.as_ref()), || {
            format!("the turn ends without the results of {open:?}")
        })
    }
}

/// Every line that leaves can be read again, as the value that it came from.
pub fn line_is_whole(event: &Event) -> Checked {
    let line = wire::encode(event, "session", "id", false);
    let text = std::str::from_utf8(&line).map_err(|error| format!("a line is no text: {error}"))?;
    let read = wire::Line::parse(text).map_err(|error| format!("a line cannot be read: {error}"))?;
    let is_same = read.is_some_and(|read| read.event == *event);
    rule(is_same, || format!("a line came back as another event: {text}"))
}

pub fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(map) => map.values().any(|item| holds(item, text)),
        _ => false,
    }
}

fn is_answer(input: &Input) -> bool {
    !matches!(
        input,
        Input::Prompt(_)
            | Input::Notice { .. }
            | Input::GoOn
            | Input::Next
            | Input::Recall(_)
            | Input::Changed(_)
            | Input::Reported(_)
            | Input::Interrupt(_)
            | Input::InnerCall { .. }
    )
}

pub fn short(effect: &Effect) -> String {
    let text = format!("{effect:?}");
    text.chars().take(100).collect()
}
