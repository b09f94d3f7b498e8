//! One question to the model: whether it is asked, its answer block by block, and what a failure leads to.

use crate::effect::{Effect, Entry, Gather, ModelQuestion};
use crate::fault::Fault;
use crate::hook::{Hook, ModelSwitch};
use crate::model_answer::{ModelAnswer, ModelFailure};
use crate::next::{AnswerFacts, GiveUp, Next, after_answer};
use crate::result::End;
use crate::state::{Asking, HookContext, Step, ToolUse, UnwrittenBlock};
use crate::turn::{Cx, Turn};
use serde_json::{Value, json};
use wire::{Assistant, Event, Message, ModelFallback, System};

impl Turn {
    /// The next question, unless a limit is reached.
    pub(crate) fn next_question(&mut self, cx: &mut Cx) {
        if let Some(most) = self.limits.max_answers
            && self.books.answers >= most + u32::from(self.has_fault(Fault::OneAnswerMore))
        {
            return self.finish(End::MaxTurns(most), cx);
        }
        // Sub-agents and earlier prompts may have spent what there was.
        if let Some(limit) = self.budget_used_up(cx) {
            return self.finish(End::Budget(limit), cx);
        }
        if self.interrupt.is_some() {
            return self.finish(End::Interrupted { streaming: true }, cx);
        }
        let what = if self.role.is_main() { Gather::BeforeAsking } else { Gather::Messages };
        let ticket = self.wait(Step::BeforeAsking);
        cx.push(Effect::Gather { ticket, what });
    }

    /// The budget, once it is used up.
    fn budget_used_up(&self, cx: &Cx) -> Option<f64> {
        let is_over = |limit: &f64| cx.now.spent_usd >= *limit && !self.has_fault(Fault::IgnoresBudget);
        self.limits.budget_usd.filter(is_over)
    }

    pub(crate) fn ready_to_ask(&mut self, late: Vec<String>, cx: &mut Cx) {
        if self.role.is_main() {
            self.tell_plan_mode(cx);
        }
        for text in late {
            self.push_reminder(&text, cx);
        }
        self.compact_or_ask(cx);
    }

    fn compact_or_ask(&mut self, cx: &mut Cx) {
        let is_full = self.settings.compact_at.is_some_and(|most| self.conversation.context_tokens >= most);
        // A prompt alone stays as it is: a summary of it would lose what was asked.
        if is_full && self.conversation.can_be_shortened() {
            self.compact_before_asking(cx);
        } else {
            self.begin_answer(cx);
        }
    }

    /// A new answer is wanted, with what there is now.
    pub(crate) fn begin_answer(&mut self, cx: &mut Cx) {
        self.asking = Asking::default();
        self.ask(cx);
    }

    fn ask(&mut self, cx: &mut Cx) {
        if self.interrupt.is_some() {
            return self.finish(End::Interrupted { streaming: true }, cx);
        }
        if !self.conversation.waits_for_an_answer() && !self.books.resends {
            // A prompt of which nothing could be sent. A question after the model's own last word would be refused.
            return self.finish(End::Done, cx);
        }
        // Hooks and a compaction took their time, and may have cost something.
        if let Some(limit) = self.budget_used_up(cx) {
            return self.finish(End::Budget(limit), cx);
        }
        self.books.asking(cx.now.ms);
        let has_fallback = self.books.fallen_back + 1 < self.models().len();
        let question =
            ModelQuestion { model: self.model_in_use(), messages: self.conversation.messages(), has_fallback };
        let ticket = self.wait(Step::Ask);
        cx.push(Effect::AskModel { ticket, question });
    }

    /// The model that has this turn by now: the session's, or the one that it has fallen back on.
    pub(crate) fn model_in_use(&self) -> String {
        let mut models = self.models();
        let at = self.books.fallen_back.min(models.len() - 1);
        models.swap_remove(at)
    }

    /// The model, and those to fall back on.
    fn models(&self) -> Vec<String> {
        let fallback = if self.role.is_main() { &*self.settings.fallback } else { &[] };
        std::iter::once(self.model().to_owned()).chain(fallback.iter().cloned()).collect()
    }

    pub(crate) fn answer_started(&mut self, message: Value, request_id: Option<String>, cx: &mut Cx) {
        self.write_answer(None, cx);
        self.asking.head = message;
        self.asking.request_id = request_id;
    }

    /// A finished block leaves at once. Its entry in the transcript, of the same id, follows when the answer has ended.
    pub(crate) fn block_finished(
        &mut self,
        mut block: Value,
        bad_input: Option<String>,
        tool_use_meta: Option<Value>,
        cx: &mut Cx,
    ) {
        if self.interrupt.is_some() {
            return;
        }
        let id = self.ids.next_id();
        let is_call = block["type"] == "tool_use";
        if is_call {
            let call_id = self.free_call_id(block["id"].as_str().unwrap_or_default());
            block["id"] = json!(call_id);
            self.asking.calls.push(ToolUse {
                id: call_id,
                name: block["name"].as_str().unwrap_or_default().to_owned(),
                input: block["input"].clone(),
                bad_input,
                entry: id.clone(),
            });
        }
        let is_visible = self.role.is_main() || self.settings.shows_subagent_text || is_call;
        let message = one_block(&self.asking.head, block);
        if is_visible {
            let parent_tool_use_id = self.role.parent_tool_use_id();
            let (message, request_id) = (Message(message.clone()), self.asking.request_id.clone());
            let event = Assistant { message, parent_tool_use_id, request_id, tool_use_meta, ..Assistant::default() };
            let event = Box::new(Event::Assistant(Box::new(event)));
            cx.push(Effect::Emit { event, id: Some(id.clone()) });
        }
        self.asking.unwritten.push(UnwrittenBlock { id, message, request_id: self.asking.request_id.clone() });
    }

    /// The blocks of the answer into the transcript, each with the counts and the stop reason that the answer ended with. An
    /// answer without an end keeps those of its start.
    pub(crate) fn write_answer(&mut self, answer: Option<&ModelAnswer>, cx: &mut Cx) {
        for UnwrittenBlock { id, mut message, request_id } in std::mem::take(&mut self.asking.unwritten) {
            if let Some(answer) = answer {
                answer.complete(&mut message);
            }
            if let Some(fields) = message.as_object_mut() {
                // A field of the wire that the file's readers do not know.
                fields.shift_remove("context_management");
            }
            cx.push(Effect::Append(Entry::Assistant { id, message, request_id, fields: None }));
        }
    }

    /// Some gateways repeat the ids of calls. A conversation with two calls of one id is refused for ever after.
    fn free_call_id(&mut self, given: &str) -> String {
        let stem = if given.is_empty() { "toolu" } else { given };
        let mut id = stem.to_owned();
        let mut number = 1;
        while self.used_ids.contains(&id) || id.is_empty() {
            number += 1;
            id = format!("{stem}_{number}");
        }
        self.used_ids.insert(id.clone());
        id
    }

    pub(crate) fn answer_finished(&mut self, mut answer: ModelAnswer, cx: &mut Cx) {
        self.write_answer(Some(&answer), cx);
        self.books.answered(&answer);
        self.books.resends = false;
        self.conversation.context_tokens = answer.usage.context_tokens();
        if let Some(limit) = self.budget_used_up(cx) {
            // Before the answer is added to the turn: the contract's budget result leaves it out of `usage`.
            return self.finish(End::Budget(limit), cx);
        }
        self.books.usage.add(&answer.usage);
        let calls = std::mem::take(&mut self.asking.calls);
        let blocks = answer.blocks.iter_mut().filter(|block| block["type"] == "tool_use");
        for (block, call) in blocks.zip(&calls) {
            block["id"] = json!(call.id);
            // The defaults of the tool's schema are part of the call, also in later requests.
            if block["input"] != call.input {
                block["input"] = call.input.clone();
            }
        }
        let has_content = answer.blocks.iter().any(says_something);
        if self.has_fault(Fault::KeepsEmptyText) {
            self.conversation.push_as_it_is(answer.blocks);
        } else {
            self.conversation.push_assistant(answer.blocks);
        }
        let facts = AnswerFacts {
            stop_reason: answer.stop_reason.as_deref(),
            incomplete: answer.incomplete,
            tool_calls: calls.len(),
            has_content,
            schema_pending: self.role.is_main() && self.settings.wants_structured && self.books.structured.is_none(),
        };
        match after_answer(facts, &mut self.books.nudged) {
            Next::RunTools => self.run_calls(calls, None, cx),
            Next::Done => self.model_done(cx),
            Next::Resend => {
                self.books.resends = true;
                self.next_question(cx);
            }
            Next::Say(nudge) => {
                self.push_synthetic(nudge.words(), cx);
                self.next_question(cx);
            }
            Next::Compact if !self.conversation.can_be_shortened() => self.finish(End::GaveUp(GiveUp::Overflow), cx),
            Next::Compact => self.compact_after_overflow(cx),
            Next::GiveUp(GiveUp::Schema) => self.finish(End::SchemaRetries(self.books.schema_failures), cx),
            Next::GiveUp(why) => self.finish(End::GaveUp(why), cx),
        }
    }

    pub(crate) fn model_failed(&mut self, failure: Box<ModelFailure>, cx: &mut Cx) {
        self.write_answer(None, cx);
        self.books.api_ms += failure.api_ms;
        if failure.status == Some(401) && !self.asking.is_renewed {
            let ticket = self.wait(Step::Renew(failure));
            cx.push(Effect::RenewCredentials { ticket });
        } else {
            self.replace_model(failure, cx);
        }
    }

    pub(crate) fn credentials_renewed(&mut self, failure: Box<ModelFailure>, renewed: bool, cx: &mut Cx) {
        if renewed {
            self.asking.is_renewed = true;
            self.ask(cx);
        } else {
            self.replace_model(failure, cx);
        }
    }

    /// Another model where that may help, a shorter conversation where that may, else the end.
    fn replace_model(&mut self, failure: Box<ModelFailure>, cx: &mut Cx) {
        let models = self.models();
        let at = self.books.fallen_back.min(models.len() - 1);
        if failure.is_of_the_model() && at + 1 < models.len() {
            self.books.fallen_back = at + 1;
            let (from, to) = (models[at].clone(), models[at + 1].clone());
            cx.emit(Event::System(System::ModelFallback(Box::new(ModelFallback {
                trigger: failure.category.into(),
                original_model: from.clone(),
                fallback_model: to.clone(),
                content: format!("{from} is not available; going on with {to}."),
                ..ModelFallback::default()
            }))));
            return self.fire(Hook::PostModelSwitch(ModelSwitch { from, to }), Step::SwitchHook, cx);
        }
        // Once a turn, and not where the prompt alone is what does not fit.
        if failure.prompt_too_long && self.books.nudged.overflow == 0 && self.conversation.can_be_shortened() {
            self.books.nudged.overflow += 1;
            return self.compact_before_asking(cx);
        }
        self.finish(End::Api(failure), cx);
    }

    pub(crate) fn model_switched(&mut self, contexts: Vec<String>, cx: &mut Cx) {
        self.push_contexts(HookContext::all("PostModelSwitch", contexts), cx);
        self.ask(cx);
    }
}

/// Text that is not blank. Thinking alone says nothing.
fn says_something(block: &Value) -> bool {
    block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
}

/// The API's message with one block of its content, as every client expects it.
fn one_block(head: &Value, block: Value) -> Value {
    let mut message = head.clone();
    if !message.is_object() {
        message = json!({});
    }
    message["type"] = json!("message");
    message["role"] = json!("assistant");
    message["content"] = Value::Array(vec![block]);
    message["stop_reason"] = Value::Null;
    message["stop_sequence"] = Value::Null;
    if message["usage"]["service_tier"].is_null() && message["usage"].is_object() {
        message["usage"]["service_tier"] = json!("standard");
    }
    message["context_management"] = Value::Null;
    message
}
