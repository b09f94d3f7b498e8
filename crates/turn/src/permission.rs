//! May this call run? Hooks have spoken, rules have judged; where the answer is "ask", whoever can be asked is.
//! Nobody there means no.

use crate::effect::{Effect, PermissionQuestion, Report};
use crate::fault::Fault;
use crate::hook::{Hook, HookAnswer, HookDecision};
use crate::input::{CallResult, InterruptCause, PermissionAnswer};
use crate::settings::Prompter;
use crate::state::{CallEnd, CallState, Replacement};
use crate::turn::{Cx, Turn};
use policy::{Decision, Verdict};
use serde_json::{Value, json};
use wire::{Event, System, ToolDenied};

impl Turn {
    /// Hooks have no objection: the rules are next, unless a hook wants the call decided later.
    pub(crate) fn judge(&mut self, key: u64, cx: &mut Cx) {
        let may_defer = self.role.is_main() && self.is_single_call(key);
        let Some(call) = self.call(key) else { return };
        if call.wish == Some(HookDecision::Defer) {
            if may_defer {
                return self.put_off(key, cx);
            }
            call.wish = None;
            cx.inform(
                format!(
                    "A hook wanted to put off {}, which is possible only for a single call of the main conversation; it is judged now.",
                    call.name
                ),
                "warning",
            );
        }
        let (tool_use_id, name, input) = (call.id.clone(), call.name.clone(), call.input.clone());
        let is_asked_anyway = call.wish == Some(HookDecision::Ask);
        let ticket = self.wait_for(key, CallState::Judging);
        cx.push(Effect::Judge { ticket, tool_use_id, name, input, is_asked_anyway });
    }

    pub(crate) fn judged(&mut self, key: u64, decision: Decision, suggestions: Vec<Value>, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        let (wish, name) = (call.wish, call.name.clone());
        match is_asked(&decision, wish) {
            None => {
                let words = refusal(&name, &decision);
                self.deny(key, None, words, Some(decision), cx);
            }
            Some(false) => {
                // A yes of the rules is for the text that they have judged; every other yes is for the input as it is.
                let is_theirs = decision.verdict == Verdict::Allow && !self.has_fault(Fault::RunsAsWritten);
                if let Some(call) = self.call(key) {
                    call.run = decision.run.filter(|_| is_theirs);
                }
                self.run(key, cx);
            }
            Some(true) => {
                let Some(call) = self.call(key) else { return };
                let hook = Hook::PermissionRequest {
                    name,
                    input: call.input.clone(),
                    tool_use_id: call.id.clone(),
                    suggestions: suggestions.clone(),
                };
                let state = |ticket| CallState::PermissionHook(ticket, Box::new(decision), suggestions);
                let ticket = self.wait_for(key, state);
                cx.push(Effect::FireHook { ticket, hook: Box::new(hook) });
            }
        }
    }

    pub(crate) fn permission_hook_answered(
        &mut self,
        key: u64,
        decision: Decision,
        suggestions: Vec<Value>,
        answer: HookAnswer,
        cx: &mut Cx,
    ) {
        if let Some(answer) = answer.permission {
            return self.permission_settled(key, answer, cx);
        }
        let agent_id = self.role.agent_id();
        let is_somebody_there = self.settings.prompter == Prompter::Somebody;
        let Some(call) = self.call(key) else { return };
        if !is_somebody_there {
            let words = refusal(&call.name, &decision);
            return self.deny(key, None, words, Some(decision), cx);
        }
        let question = PermissionQuestion {
            tool_use_id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            decision: decision.clone(),
            suggestions,
            agent_id,
        };
        let ticket = self.wait_for(key, |ticket| CallState::AskingClient(ticket, Box::new(decision)));
        cx.push(Effect::AskPermission { ticket, question: Box::new(question) });
    }

    pub(crate) fn permission_answered(&mut self, key: u64, decision: Decision, answer: PermissionAnswer, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        match answer {
            PermissionAnswer::Nobody => {
                let words = refusal(&call.name, &decision);
                self.deny(key, None, words, Some(decision), cx);
            }
            PermissionAnswer::NoPrompter(message) => {
                self.report(Report::NoPrompter(message.clone()), cx);
                self.deny(key, None, message, Some(decision), cx);
            }
            PermissionAnswer::Answer(answer) => self.permission_settled(key, answer, cx),
        }
    }

    /// Does what an answer says. What does not say `allow` is a no.
    fn permission_settled(&mut self, key: u64, mut answer: Value, cx: &mut Cx) {
        let runs_all = self.has_fault(Fault::RunsDenied);
        if answer["behavior"] != "allow" && !runs_all {
            self.record_denial(key, None, cx);
            let said = answer["message"].as_str().filter(|message| !message.is_empty());
            let words = said.unwrap_or("The user did not permit this call.").to_owned();
            self.end_call(key, CallEnd::Denied, CallResult::error(words), cx);
            if answer["interrupt"] == true {
                self.interrupt(InterruptCause::Client, cx);
            }
            return;
        }
        let updated = Some(answer["updatedInput"].take()).filter(Value::is_object);
        match answer["updatedPermissions"].take() {
            Value::Array(updates) if !updates.is_empty() => {
                let ticket = self.wait_for(key, |ticket| CallState::Applying(ticket, updated));
                cx.push(Effect::ApplyUpdates { ticket, updates });
            }
            _ => self.allowed(key, updated, cx),
        }
    }

    /// Somebody allowed the call, perhaps with another input.
    pub(crate) fn allowed(&mut self, key: u64, updated: Option<Value>, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        match updated.filter(|updated| *updated != call.input) {
            Some(input) => self.recheck(key, Replacement::ByClient(input), cx),
            None => self.run(key, cx),
        }
    }

    /// A refusal that no client gave: it is listed in the result. Refusals of rules and modes (those with a decision) are told
    /// to clients and to hooks as well; a hook's own is not.
    pub(crate) fn deny(
        &mut self,
        key: u64,
        input: Option<Value>,
        words: String,
        decision: Option<Decision>,
        cx: &mut Cx,
    ) {
        self.record_denial(key, input.clone(), cx);
        let agent_id = self.role.agent_id();
        let Some(call) = self.call(key) else { return };
        let Some(decision) = decision else {
            let end = if call.stop.is_some() { CallEnd::Stopped } else { CallEnd::Denied };
            return self.end_call(key, end, CallResult::error(words), cx);
        };
        cx.emit(Event::System(System::PermissionDenied(Box::new(ToolDenied {
            tool_name: call.name.clone(),
            tool_use_id: call.id.clone(),
            message: words.clone(),
            agent_id,
            decision_reason_type: Some(decision.reason_type.into()),
            decision_reason: Some(decision.reason.clone()),
            ..ToolDenied::default()
        }))));
        let hook = Hook::PermissionDenied {
            name: call.name.clone(),
            input: input.unwrap_or_else(|| call.input.clone()),
            tool_use_id: call.id.clone(),
            reason: decision.reason,
        };
        let ticket = self.wait_for(key, |ticket| CallState::DeniedHook(ticket, words));
        cx.push(Effect::FireHook { ticket, hook: Box::new(hook) });
    }

    pub(crate) fn denial_told(&mut self, key: u64, mut words: String, answer: &HookAnswer, cx: &mut Cx) {
        if answer.retry {
            words.push_str(" You may try this call again.");
        }
        if self.has_fault(Fault::RunsDenied) {
            return self.run(key, cx);
        }
        self.end_call(key, CallEnd::Denied, CallResult::error(words), cx);
    }

    fn record_denial(&mut self, key: u64, input: Option<Value>, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        let input = input.unwrap_or_else(|| call.input.clone());
        let denial = json!({"tool_name": call.name, "tool_use_id": call.id, "tool_input": input});
        self.report(Report::Denied(denial), cx);
    }

    /// The only call of an answer: a call can be put off where nothing is half done by it.
    fn is_single_call(&self, key: u64) -> bool {
        let keys = self.batch.as_ref().map(|batch| batch.groups.concat());
        keys.is_some_and(|keys| keys == [key])
    }
}

/// Whether somebody is asked; `None` where the answer is no already.
fn is_asked(decision: &Decision, wish: Option<HookDecision>) -> Option<bool> {
    match (decision.verdict, wish) {
        (Verdict::Deny, _) => None,
        // A hook may spare the question that the mode asks, not the one that a rule asks.
        (Verdict::Ask, Some(HookDecision::Allow)) => Some(decision.reason_type == "rule"),
        (Verdict::Allow, Some(HookDecision::Ask)) | (Verdict::Ask, _) => Some(true),
        (Verdict::Allow, _) => Some(false),
    }
}

/// Why a call does not run where nobody can be asked; `None` where it may. `wish` is what hooks want.
pub fn refusal_unattended(name: &str, decision: &Decision, wish: Option<HookDecision>) -> Option<String> {
    (is_asked(decision, wish) != Some(false)).then(|| refusal(name, decision))
}

/// What the model is told.
fn refusal(name: &str, decision: &Decision) -> String {
    let reason = decision.reason.trim_end_matches('.');
    match decision.verdict {
        Verdict::Ask => format!(
            "{name} was not run: it needs a permission and nobody is here to give it ({reason}). \
             Go on without it; if the task cannot be done that way, say what you would have run and why."
        ),
        _ => format!(
            "{name} was not run: it is not permitted ({reason}). Do not try to get around this; go on without it."
        ),
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
