//! How a turn ends: Stop hooks may send the model on; everything else leads to one result.

use crate::effect::Effect;
use crate::fault::Fault;
use crate::hook::{Hook, HookAnswer};
use crate::model_answer::ModelFailure;
use crate::next::GiveUp;
use crate::result::{End, outcome, reason, subagent_result};
use crate::settings::Role;
use crate::state::{HookContext, Step};
use crate::turn::{Cx, Turn};
use crate::words;
use serde_json::json;
use wire::{Event, Message, Notification, RateLimitEvent, RateLimitInfo, System, User};

impl Turn {
    /// The model wants to end its turn.
    pub(crate) fn model_done(&mut self, cx: &mut Cx) {
        if self.role.answers_a_hook() {
            return self.finish(End::Done, cx);
        }
        let (is_active, last_text) = (self.books.stop_blocks > 0, self.books.last_text.clone());
        let hook = match &self.role {
            Role::Main => Hook::Stop { is_active, last_text },
            Role::Sub(sub) => {
                let (agent_id, agent_type) = (sub.agent_id.clone(), sub.agent_type.clone());
                Hook::SubagentStop { is_active, last_text, agent_id, agent_type }
            }
        };
        self.fire(hook, Step::StopHook, cx);
    }

    pub(crate) fn stop_answered(&mut self, answer: HookAnswer, cx: &mut Cx) {
        if let Some(reason) = answer.stop {
            return self.finish(End::HookStopped(reason), cx);
        }
        let Some(reason) = answer.blocked else { return self.finish(End::Done, cx) };
        if self.books.stop_blocks >= self.limits.stop_blocks && !self.has_fault(Fault::StopHookWithoutEnd) {
            let event = if self.role.is_main() { "Stop" } else { "SubagentStop" };
            let blocks = self.books.stop_blocks;
            cx.push(Effect::Warn(format!(
                "warning: {event} hooks blocked {blocks} times in a row; the turn ends all the same"
            )));
            return self.finish(End::Done, cx);
        }
        self.books.stop_blocks += 1;
        let event = if self.role.is_main() { "Stop" } else { "SubagentStop" };
        self.push_contexts(HookContext::all(event, answer.contexts), cx);
        self.push_synthetic(&format!("Stop hook feedback:\n{reason}"), cx);
        if self.role.is_main() {
            cx.emit(Event::System(System::Notification(Notification {
                key: "stop-hook-error".into(),
                // Clients of the reference know this very line.
                text: "Stop hook error occurred · ctrl+o to see".into(),
                priority: "immediate".into(),
                ..Notification::default()
            })));
        }
        self.next_question(cx);
    }

    /// The turn is over: what it leaves behind for the client, the transcript and stderr, then its result.
    pub(crate) fn finish(&mut self, end: End, cx: &mut Cx) {
        self.write_answer(None, cx);
        if !self.role.is_main() {
            return self.conclude(&end, cx);
        }
        match &end {
            End::Api(failure) => {
                self.tell_failure(failure, &reason(&end), cx);
                let hook = Hook::StopFailure {
                    category: failure.category,
                    message: failure.message.clone(),
                    last_text: self.books.last_text.clone(),
                };
                return self.fire(hook, Step::FailureHook(end), cx);
            }
            End::GaveUp(GiveUp::Refused) => self.say_synthetic(&reason(&end), cx),
            End::Interrupted { streaming } => self.tell_interrupt(*streaming, cx),
            // A fault of ours and a missing prompter are for the person who set the run up, whatever reads the result.
            End::Internal(_) | End::NoPrompter(_) => cx.push(Effect::Warn(reason(&end))),
            _ => {}
        }
        self.conclude(&end, cx);
    }

    /// The one result, and nothing after it.
    pub(crate) fn conclude(&mut self, end: &End, cx: &mut Cx) {
        self.cancel_everything(cx);
        self.calls.clear();
        self.batch = None;
        self.is_running = false;
        self.leave_if_told();
        self.write_last_prompt(cx);
        let denials = std::mem::take(&mut self.denials);
        let effect = match &self.role {
            Role::Main => {
                let mut outcome = outcome(&mut self.books, end, denials, cx.now.ms);
                outcome.queued_turn_count = Some(self.waiting_prompts());
                Effect::EndTurn { outcome: Box::new(outcome) }
            }
            Role::Sub(sub) => {
                let most = self.limits.subagent_output;
                let result = subagent_result(&self.books, end, &sub.agent_id, &self.task, most, cx.now.ms);
                Effect::EndTask { result: Box::new(result) }
            }
        };
        if self.has_fault(Fault::SecondResult) && self.interrupt.is_some() {
            cx.push(effect.clone());
        }
        cx.push(effect);
    }

    /// An answer that the model did not give: how clients of the reference are told of API failures.
    fn tell_failure(&mut self, failure: &ModelFailure, words: &str, cx: &mut Cx) {
        if failure.category == "rate_limit" {
            let resets_at = failure.reset.as_ref().and_then(|reset| u64::try_from(reset.seconds).ok());
            let rate_limit_info = RateLimitInfo { status: "rejected".into(), resets_at, ..RateLimitInfo::default() };
            cx.emit(Event::RateLimitEvent(RateLimitEvent { rate_limit_info, ..RateLimitEvent::default() }));
        }
        self.books.stop_reason = Some("stop_sequence".into());
        let message = self.synthetic(words);
        let fields = json!({
            "isApiErrorMessage": true,
            "error": failure.category,
            "apiErrorStatus": failure.status,
            "apiErrorType": failure.api_type,
        });
        self.emit_assistant(message, Some(failure.category.into()), Some(fields), cx);
    }

    fn tell_interrupt(&mut self, streaming: bool, cx: &mut Cx) {
        let words = if streaming { words::INTERRUPTED_ANSWER } else { words::INTERRUPTED_CALL };
        let message = json!({"role": "user", "content": [{"type": "text", "text": words}]});
        let id = self.append_user(message.clone(), false, cx);
        self.books.user_messages += 1;
        self.conversation.push_user(message["content"].clone());
        let event = Event::User(Box::new(User { message: Message(message), ..User::default() }));
        cx.push(Effect::Emit { event: Box::new(event), id: Some(id) });
    }
}
