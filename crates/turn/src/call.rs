//! One tool call on its way: checked, heard by hooks, judged, run, heard again, its secrets hidden.
//!
//! What permission needs is in `permission`; how the calls of one answer belong together is in `batch`.

use crate::effect::Effect;
use crate::fault::Fault;
use crate::hook::{Hook, HookAnswer, HookDecision};
use crate::input::{CallResult, Input, Ticket, ToolFinish};
use crate::state::{Call, CallEnd, CallState, HookContext, Replacement};
use crate::turn::{Cx, Turn};
use serde_json::Value;

/// Excerpt of an input that is no JSON.
const BAD_INPUT_CHARS: usize = 200;

impl Turn {
    pub(crate) fn call(&mut self, key: u64) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.key == key)
    }

    fn set(&mut self, key: u64, state: CallState) {
        if let Some(call) = self.call(key) {
            call.state = state;
        }
    }

    /// A new ticket, and the call waits for it in the state that `state` makes of it.
    pub(crate) fn wait_for(&mut self, key: u64, state: impl FnOnce(Ticket) -> CallState) -> Ticket {
        let ticket = self.ticket();
        self.set(key, state(ticket));
        ticket
    }

    /// The first step of a call.
    pub(crate) fn begin_call(&mut self, key: u64, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        let name = call.name.clone();
        if call.facts.is_none() {
            let text = format!("Error: No such tool available: {}", call.made.name);
            return self.end_call(key, CallEnd::Rejected, CallResult::misuse(text), cx);
        }
        if let Some(raw) = &call.made.bad_input {
            let start: String = raw.chars().take(BAD_INPUT_CHARS).collect();
            let text =
                format!("The input of {name} was not valid JSON ({start}). Call it again with a complete JSON object.");
            return self.end_call(key, CallEnd::Rejected, CallResult::misuse(text), cx);
        }
        // It comes back with the check.
        let (tool_use_id, input) = (call.id.clone(), call.input.take());
        let ticket = self.wait_for(key, CallState::Checking);
        cx.push(Effect::CheckInput { ticket, tool_use_id, name, input });
    }

    /// An answer for a call. One that nobody waits for is ignored.
    pub(crate) fn take_call(&mut self, ticket: Ticket, input: Input, cx: &mut Cx) {
        let Some(call) = self.calls.iter_mut().find(|call| call.state.ticket() == Some(ticket)) else { return };
        let key = call.key;
        match (std::mem::replace(&mut call.state, CallState::Waiting), input) {
            (CallState::Cancelling(_), _) => self.cancelled(key, cx),
            (CallState::Checking(_), Input::InputChecked { checked, .. }) => self.input_checked(key, checked, cx),
            (CallState::PreHooks(_), Input::HookAnswered { answer, .. }) => self.pre_hooks_answered(key, *answer, cx),
            (CallState::Rechecking(_, by), Input::InputChecked { checked, .. }) => {
                self.input_replaced(key, &by, checked, cx);
            }
            (CallState::Judging(_), Input::Judged { decision, suggestions, .. }) => {
                self.judged(key, decision, suggestions, cx);
            }
            (CallState::PermissionHook(_, decision, suggestions), Input::HookAnswered { answer, .. }) => {
                self.permission_hook_answered(key, *decision, suggestions, *answer, cx);
            }
            (CallState::AskingClient(_, decision), Input::PermissionAnswered { answer, .. }) => {
                self.permission_answered(key, *decision, answer, cx);
            }
            (CallState::Applying(_, updated), Input::UpdatesApplied { .. }) => self.allowed(key, updated, cx),
            (CallState::DeniedHook(_, words), Input::HookAnswered { answer, .. }) => {
                self.denial_told(key, words, &answer, cx);
            }
            (CallState::Running(_), Input::ToolFinished { finish, .. }) => self.tool_finished(key, *finish, cx),
            (CallState::Running(_), Input::AgentFinished { result, stopped, .. }) => {
                self.tool_finished(key, ToolFinish::from(result), cx);
                if stopped {
                    self.interrupt(crate::input::InterruptCause::Client, cx);
                }
            }
            (CallState::PostHooks(_), Input::HookAnswered { answer, .. }) => self.post_hooks_answered(key, *answer, cx),
            (CallState::Hiding(_), Input::SecretsHidden { result, .. }) => self.call_ended(key, Some(result), cx),
            (_, _) => {
                let text = "The call was stopped before it finished.";
                self.end_call(key, CallEnd::Rejected, CallResult::error(text), cx);
            }
        }
    }

    fn input_checked(&mut self, key: u64, checked: Result<Value, CallResult>, cx: &mut Cx) {
        let input = match checked {
            Ok(input) => input,
            Err(problem) => return self.end_call(key, CallEnd::Rejected, problem, cx),
        };
        if self.starts_subagent(key)
            && let Some(problem) = self.subagent_refusal(cx)
        {
            return self.end_call(key, CallEnd::Rejected, CallResult::error(problem), cx);
        }
        let Some(call) = self.call(key) else { return };
        call.input = input;
        let hook =
            Hook::PreToolUse { name: call.name.clone(), input: call.input.clone(), tool_use_id: call.id.clone() };
        let ticket = self.wait_for(key, CallState::PreHooks);
        cx.push(Effect::FireHook { ticket, hook: Box::new(hook) });
    }

    fn starts_subagent(&mut self, key: u64) -> bool {
        self.call(key).and_then(|call| call.facts).is_some_and(|facts| facts.starts_subagent)
    }

    /// Why no sub-agent can be started now.
    fn subagent_refusal(&self, cx: &Cx) -> Option<String> {
        let limits = &self.limits;
        let depth = limits.subagent_depth + u32::from(self.has_fault(Fault::OneLevelDeeper));
        if self.role.depth() >= depth {
            return Some(format!(
                "Agents may nest {} deep and this is the deepest. Do the task yourself.",
                limits.subagent_depth
            ));
        }
        let most = limits.subagents_at_once + usize::from(self.has_fault(Fault::OneSubagentMore));
        (cx.now.subagents + cx.started >= most).then(|| {
            format!(
                "{} agents are at work already, which is the limit. Wait for them or do the task yourself.",
                limits.subagents_at_once
            )
        })
    }

    /// What the PreToolUse hooks say; a new input is checked like the model's own.
    fn pre_hooks_answered(&mut self, key: u64, answer: HookAnswer, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        call.contexts.extend(HookContext::all("PreToolUse", answer.contexts));
        call.wish = answer.decision;
        let name = call.name.clone();
        if let Some(reason) = answer.stop {
            call.stop = Some(reason.clone());
            return self.deny(key, None, format!("A hook stopped the run: {reason}"), None, cx);
        }
        let reason = || answer.reason.unwrap_or_else(|| "no reason given".into());
        let is_denied = answer.decision == Some(HookDecision::Deny);
        if let Some(reason) = answer.blocked.or_else(|| is_denied.then(reason)) {
            let words = format!("{name} was not run: a hook refused it ({reason}).");
            return self.deny(key, None, words, None, cx);
        }
        match answer.updated_input {
            Some(input) => self.recheck(key, Replacement::ByHook(input), cx),
            None => self.judge(key, cx),
        }
    }

    pub(crate) fn recheck(&mut self, key: u64, by: Replacement, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        let (tool_use_id, name) = (call.id.clone(), call.name.clone());
        let (Replacement::ByHook(input) | Replacement::ByClient(input)) = by.clone();
        let ticket = self.wait_for(key, |ticket| CallState::Rechecking(ticket, by));
        cx.push(Effect::CheckInput { ticket, tool_use_id, name, input });
    }

    fn input_replaced(&mut self, key: u64, by: &Replacement, checked: Result<Value, CallResult>, cx: &mut Cx) {
        let keeps_old = self.has_fault(Fault::RunsOldInput);
        let Some(call) = self.call(key) else { return };
        let (Replacement::ByHook(given) | Replacement::ByClient(given)) = by;
        match checked {
            Ok(_) if keeps_old => {}
            Ok(input) => call.input = input,
            Err(problem) => {
                let words =
                    format!("{} was not run: its changed input is not usable ({}).", call.name, problem.words());
                return self.deny(key, Some(given.clone()), words, None, cx);
            }
        }
        match by {
            Replacement::ByHook(_) => self.judge(key, cx),
            Replacement::ByClient(_) => self.run(key, cx),
        }
    }

    /// The call may run.
    pub(crate) fn run(&mut self, key: u64, cx: &mut Cx) {
        let is_agent = self.starts_subagent(key);
        // Others may have started while somebody was asked.
        if is_agent && let Some(problem) = self.subagent_refusal(cx) {
            return self.end_call(key, CallEnd::Rejected, CallResult::error(problem), cx);
        }
        let Some(call) = self.call(key) else { return };
        call.since_ms = cx.now.ms;
        let (tool_use_id, name, input) = (call.id.clone(), call.name.clone(), call.input.clone());
        let run = call.run.take();
        let ticket = self.wait_for(key, CallState::Running);
        if is_agent {
            cx.started += 1;
            let wait = self.settings.background.wait(self.role.is_main(), &input);
            cx.push(Effect::StartAgent { ticket, tool_use_id, input, wait });
        } else {
            cx.push(Effect::RunTool { ticket, tool_use_id, name, input, run });
        }
    }

    fn tool_finished(&mut self, key: u64, finish: ToolFinish, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        call.follow_up = finish.follow_up;
        call.structured = finish.structured;
        call.ends_turn = finish.ends_turn;
        call.stop = call.stop.take().or(finish.stop);
        let (name, input, tool_use_id) = (call.name.clone(), call.input.clone(), call.id.clone());
        let duration_ms = cx.now.ms.saturating_sub(call.since_ms);
        let hook = if finish.result.is_error() {
            let error = finish.result.words();
            Hook::PostToolUseFailure { name, input, tool_use_id, error, duration_ms }
        } else {
            let response = finish.result.structured.clone();
            Hook::PostToolUse { name, input, tool_use_id, response, duration_ms }
        };
        call.result = Some(finish.result);
        let ticket = self.wait_for(key, CallState::PostHooks);
        cx.push(Effect::FireHook { ticket, hook: Box::new(hook) });
        self.drop_inner_calls(cx);
    }

    /// Hooks may add to the result, replace it, or stop the run.
    fn post_hooks_answered(&mut self, key: u64, answer: HookAnswer, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        let texts = answer.contexts.into_iter().chain(answer.blocked).collect();
        call.contexts.extend(HookContext::all("PostToolUse", texts));
        call.stop = call.stop.take().or(answer.stop);
        let Some(result) = call.result.take() else { return };
        let result = match answer.updated_output {
            Some(output) => result.replaced(output),
            None => result,
        };
        self.end_call(key, CallEnd::Done, result, cx);
    }

    /// The call has its result, but for the secrets in it.
    pub(crate) fn end_call(&mut self, key: u64, end: CallEnd, result: CallResult, cx: &mut Cx) {
        let shows = self.has_fault(Fault::ShowsSecret);
        let Some(call) = self.call(key) else { return };
        call.end = Some(end);
        if shows {
            return self.call_ended(key, Some(result), cx);
        }
        let ticket = self.wait_for(key, CallState::Hiding);
        cx.push(Effect::HideSecrets { ticket, result });
    }
}
