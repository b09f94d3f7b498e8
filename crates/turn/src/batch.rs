//! The calls of one answer: which run beside each other, and how their results are reported.
//!
//! Neighbouring calls whose tools allow it run at the same time; all others one after another. Results leave in the
//! order of the calls, and every call gets exactly one, whatever happened to it.

use crate::conversation::message;
use crate::effect::{Effect, Entry, Gather};
use crate::error::InnerCallError;
use crate::fault::Fault;
use crate::hook::{Hook, HookAnswer};
use crate::input::{CallResult, Ticket};
use crate::result::{End, totals};
use crate::settings::{DeferredCall, Role, ToolFacts};
use crate::state::{Batch, Call, CallEnd, CallState, HookContext, Owner, Step, ToolUse, Waiting, Work};
use crate::turn::{Cx, Turn};
use crate::words;
use serde_json::{Value, json};
use wire::{Event, Message, System, TaskProgress, User};

/// The tool whose input is the caller's schema.
pub const STRUCTURED_OUTPUT: &str = "StructuredOutput";
/// The `system` entry of the transcript that says which call was put off.
const TOOL_DEFERRED: &str = "tool_deferred";

impl Turn {
    pub(crate) fn run_calls(&mut self, uses: Vec<ToolUse>, work: Option<Work>, cx: &mut Cx) {
        self.books.tool_uses += uses.len() as u64;
        self.calls.clear();
        let mut keys = Vec::new();
        for made in uses {
            let call = self.new_call(Owner::Answer, made);
            keys.push((call.key, call.facts));
            self.calls.push(call);
        }
        self.batch = Some(Batch {
            groups: groups(&keys, self.limits.concurrency),
            at: 0,
            ended: Vec::new(),
            results: Vec::new(),
            reported: Vec::new(),
            last_name: String::new(),
            follow_ups: Vec::new(),
            contexts: Vec::new(),
            stop: None,
            ends_turn: false,
            work,
        });
        self.begin_group(cx);
    }

    fn new_call(&mut self, owner: Owner, made: ToolUse) -> Call {
        let key = self.ticket().0;
        let name = self.settings.tools.resolve(&made.name).to_owned();
        let facts = self.settings.tools.find(&made.name);
        Call::new(key, owner, made, name, facts)
    }

    /// Begins the calls of the next group, or ends the batch.
    fn begin_group(&mut self, cx: &mut Cx) {
        loop {
            let Some(batch) = &self.batch else { return };
            let Some(group) = batch.groups.get(batch.at).cloned() else { return self.batch_done(cx) };
            if self.interrupt.is_none() {
                for key in group {
                    self.begin_call(key, cx);
                }
                return;
            }
            for key in group {
                if let Some(call) = self.call(key) {
                    cancel(call);
                }
            }
            self.report_group(cx);
        }
    }

    /// A call of the running group was cut off.
    pub(crate) fn cancelled(&mut self, key: u64, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        cancel(call);
        self.call_ended(key, None, cx);
    }

    /// The call is over. `result` is what the secrets were hidden in.
    pub(crate) fn call_ended(&mut self, key: u64, result: Option<CallResult>, cx: &mut Cx) {
        let Some(call) = self.call(key) else { return };
        if let Some(result) = result {
            call.result = Some(result);
        }
        call.state = CallState::Ended;
        if let Owner::Inner { inner, owner } = call.owner {
            return self.inner_ended(key, inner, owner, cx);
        }
        if let Some(batch) = &mut self.batch {
            batch.ended.push(key);
        }
        let Some(group) = self.batch.as_ref().and_then(|batch| batch.groups.get(batch.at)) else { return };
        let has_ended = |key: &u64| self.calls.iter().any(|call| call.key == *key && call.has_ended());
        if group.iter().all(has_ended) {
            self.report_group(cx);
            self.begin_group(cx);
        }
    }

    /// The results of a group, in the order of its calls.
    fn report_group(&mut self, cx: &mut Cx) {
        let Some(batch) = &mut self.batch else { return };
        let mut group = batch.groups.get(batch.at).cloned().unwrap_or_default();
        batch.at += 1;
        let ended = std::mem::take(&mut batch.ended);
        if self.has_fault(Fault::ResultsOutOfOrder) && ended.len() == group.len() {
            group = ended;
        }
        for key in group {
            let Some(at) = self.calls.iter().position(|call| call.key == key) else { continue };
            let call = self.calls.remove(at);
            self.settle_call(call, cx);
        }
    }

    /// One result: a line for the client, an entry in the transcript, a block for the model; and what else came of the call.
    fn settle_call(&mut self, call: Call, cx: &mut Cx) {
        let result = call.result.unwrap_or_else(|| CallResult::error(words::INTERRUPTED_CALL));
        if call.structured.is_some() {
            self.books.structured.clone_from(&call.structured);
        } else if call.name == STRUCTURED_OUTPUT && result.is_error() {
            self.books.schema_failures += 1;
        }
        let block = result.block(&call.id);
        let message = message("user", Value::Array(vec![block.clone()]));
        let id = self.ids.next_id();
        self.books.user_messages += 1;
        let entry = if self.has_fault(Fault::TornTranscript) { id.clone() } else { call.made.entry.clone() };
        cx.push(Effect::Append(Entry::User {
            id: id.clone(),
            message: message.clone(),
            is_meta: false,
            is_compact_summary: false,
            tool_use_result: Some(result.structured.clone()),
            source_assistant: Some(entry),
            fields: self.entry_fields(None),
        }));
        let event = User {
            message: Message(message),
            parent_tool_use_id: self.role.parent_tool_use_id(),
            tool_use_result: Some(result.structured.clone()),
            ..User::default()
        };
        cx.push(Effect::Emit { event: Box::new(Event::User(Box::new(event))), id: Some(id) });
        let drops = self.has_fault(Fault::DropsResult);
        let Some(batch) = &mut self.batch else { return };
        if !drops || call.end == Some(CallEnd::Done) {
            batch.results.push(block);
        }
        batch.reported.push(reported(&call.name, &call.id, call.made.input, result.structured));
        batch.last_name = call.name;
        batch.follow_ups.extend(call.follow_up);
        batch.contexts.extend(call.contexts);
        batch.stop = batch.stop.take().or(call.stop);
        batch.ends_turn |= call.ends_turn;
    }

    /// Every call has its result: they go into the conversation, with what hooks and skills add.
    fn batch_done(&mut self, cx: &mut Cx) {
        let Some(batch) = self.batch.take() else { return };
        let Batch { results, reported, last_name, follow_ups, contexts, stop, ends_turn, work, .. } = batch;
        self.drop_inner_calls(cx);
        self.calls.clear();
        self.conversation.push_results(results);
        self.tell_progress(last_name, cx);
        for text in follow_ups {
            self.push_synthetic(&text, cx);
        }
        self.push_contexts(contexts, cx);
        if self.interrupt.is_some() {
            return self.finish(End::Interrupted { streaming: false }, cx);
        }
        self.fire(Hook::PostToolBatch { calls: reported }, Step::BatchHook { stop, ends_turn, work }, cx);
    }

    /// Tells the client how far a sub-agent has come.
    fn tell_progress(&mut self, last_tool_name: String, cx: &mut Cx) {
        let Role::Sub(sub) = &self.role else { return };
        if sub.answers_a_hook {
            return;
        }
        cx.emit(Event::System(System::TaskProgress(Box::new(TaskProgress {
            task_id: sub.agent_id.clone(),
            tool_use_id: sub.tool_use_id.clone(),
            description: sub.description.clone(),
            subagent_type: sub.agent_type.clone(),
            usage: totals(&self.books, cx.now.ms),
            last_tool_name,
            ..TaskProgress::default()
        }))));
    }

    /// Hooks have heard of the whole batch: does the turn go on?
    pub(crate) fn batch_settled(
        &mut self,
        stop: Option<String>,
        ends_turn: bool,
        work: Option<Work>,
        answer: HookAnswer,
        cx: &mut Cx,
    ) {
        self.push_contexts(HookContext::all("PostToolBatch", answer.contexts), cx);
        let stop = stop.or(answer.stop).or(answer.blocked).map(End::HookStopped);
        let end = self.no_prompter.clone().map(End::NoPrompter).or(stop).or_else(|| self.structured_end());
        match (end.or(ends_turn.then_some(End::Done)), work) {
            (Some(End::Done), None) => self.model_done(cx),
            (Some(end), _) => self.finish(end, cx),
            (None, Some(work)) => self.begin_work(work, cx),
            (None, None) => {
                let ticket = self.wait(Step::AfterCalls);
                cx.push(Effect::Gather { ticket, what: Gather::AfterCalls });
            }
        }
    }

    /// Structured output ends a turn, and so do too many failures to give it.
    fn structured_end(&self) -> Option<End> {
        let failures = self.books.schema_failures;
        let most = self.limits.schema_retries + u32::from(self.has_fault(Fault::OneSchemaRetryMore));
        if self.books.structured.is_some() {
            Some(End::Done)
        } else if failures >= most && failures > 0 {
            Some(End::SchemaRetries(failures))
        } else {
            None
        }
    }

    /// The run ends before the call: in a session that is resumed, hooks are asked about it again.
    pub(crate) fn put_off(&mut self, key: u64, cx: &mut Cx) {
        if self.has_fault(Fault::DeferredIsAnswered)
            && let Some(call) = self.calls.iter().find(|call| call.key == key).cloned()
        {
            self.settle_call(call, cx);
            let results = self.batch.as_mut().map(|batch| std::mem::take(&mut batch.results));
            self.conversation.push_results(results.unwrap_or_default());
        }
        let Some(call) = self.calls.iter().find(|call| call.key == key) else { return };
        let ToolUse { id, name, input, entry, .. } = call.made.clone();
        // The client's word for the tool does not come back in a resumed session; the tool's own does.
        let name = if self.settings.tools.tools.contains_key(&name) { name } else { call.name.clone() };
        let shown = json!({"id": id, "name": name, "input": input});
        cx.push(Effect::Append(Entry::System {
            id: self.ids.next_id(),
            subtype: TOOL_DEFERRED,
            fields: json!({
                "content": "Tool call deferred",
                "deferredToolUse": shown,
                "sourceToolAssistantUUID": entry,
            }),
            new_root: false,
        }));
        self.books.stop_reason = Some(TOOL_DEFERRED.into());
        self.deferred = Some(DeferredCall { id, name, input, entry });
        self.calls.clear();
        self.batch = None;
        self.finish(End::Deferred(shown), cx);
    }

    /// Something broke while calls were on their way. Each still gets its result: the model waits for them.
    pub(crate) fn abandon_batch(&mut self, text: &str, cx: &mut Cx) {
        while self.batch.as_ref().is_some_and(|batch| batch.at < batch.groups.len()) {
            let group = self.batch.as_ref().map(|batch| batch.groups[batch.at].clone()).unwrap_or_default();
            for call in self.calls.iter_mut().filter(|call| group.contains(&call.key) && !call.has_ended()) {
                call.result = Some(CallResult::error(text));
                call.state = CallState::Ended;
            }
            self.report_group(cx);
        }
        if let Some(batch) = self.batch.take() {
            self.conversation.push_results(batch.results);
        }
        self.calls.clear();
    }

    /// A tool that runs, or a command that is expanded, wants a call made.
    pub(crate) fn begin_inner(
        &mut self,
        inner: u64,
        owner: Ticket,
        tool_use_id: String,
        name: String,
        input: Value,
        cx: &mut Cx,
    ) {
        if self.interrupt.is_some() || !self.is_owner(owner) {
            return cx.push(Effect::AnswerInner { inner, result: Err(InnerCallError::Interrupted) });
        }
        let made = ToolUse { id: tool_use_id, name, input, bad_input: None, entry: String::new() };
        let call = self.new_call(Owner::Inner { inner, owner }, made);
        let key = call.key;
        self.calls.push(call);
        self.begin_call(key, cx);
    }

    /// Work that may want calls made: a tool that runs, a command that is expanded.
    fn is_owner(&self, ticket: Ticket) -> bool {
        let is_call = |call: &Call| matches!(call.state, CallState::Running(running) if running == ticket);
        let is_command = |waiting: &Waiting| {
            waiting.ticket == ticket && matches!(waiting.step, Step::Expand(_)) && !waiting.is_cancelled
        };
        self.calls.iter().any(is_call) || self.waiting.as_ref().is_some_and(is_command)
    }

    /// What hooks said about a call inside other work goes to whoever wanted it; so does the result.
    fn inner_ended(&mut self, key: u64, inner: u64, owner: Ticket, cx: &mut Cx) {
        let Some(at) = self.calls.iter().position(|call| call.key == key) else { return };
        let call = self.calls.remove(at);
        let is_outer = |call: &&mut Call| matches!(call.state, CallState::Running(running) if running == owner);
        if let Some(outer) = self.calls.iter_mut().find(is_outer) {
            outer.contexts.extend(call.contexts);
            outer.stop = outer.stop.take().or(call.stop);
        } else {
            self.command_contexts.extend(call.contexts);
            self.command_stop = self.command_stop.take().or(call.stop);
        }
        let result = call.result.unwrap_or_else(|| CallResult::error(words::INTERRUPTED_CALL));
        let has_run = call.end == Some(CallEnd::Done);
        let result = if has_run { Ok(result) } else { Err(InnerCallError::Refused(result.words())) };
        cx.push(Effect::AnswerInner { inner, result });
    }

    /// Calls whose owner is over are over too.
    pub(crate) fn drop_inner_calls(&mut self, cx: &mut Cx) {
        let is_orphan = |call: &Call| match call.owner {
            Owner::Answer => false,
            Owner::Inner { owner, .. } => !self.is_owner(owner),
        };
        let orphans: Vec<u64> = self.calls.iter().filter(|call| is_orphan(call)).map(|call| call.key).collect();
        for call in self.calls.iter().filter(|call| orphans.contains(&call.key)) {
            if let Some(ticket) = call.state.ticket() {
                cx.push(Effect::Cancel { ticket });
            }
        }
        self.calls.retain(|call| !orphans.contains(&call.key));
    }
}

/// A call and its result, for hooks. Built by moving: `json!` would copy both.
fn reported(name: &str, id: &str, input: Value, response: Value) -> Value {
    let mut call = serde_json::Map::new();
    call.insert("tool_name".into(), name.into());
    call.insert("tool_input".into(), input);
    call.insert("tool_use_id".into(), id.into());
    call.insert("tool_response".into(), response);
    Value::Object(call)
}

fn cancel(call: &mut Call) {
    call.end = Some(CallEnd::Cancelled);
    call.result = Some(CallResult::error(words::INTERRUPTED_CALL));
    call.follow_up = None;
    call.structured = None;
    call.state = CallState::Ended;
}

/// Runs of calls that may run beside each other, at most `most` long; every other call alone.
fn groups(calls: &[(u64, Option<ToolFacts>)], most: usize) -> Vec<Vec<u64>> {
    let beside = |call: &&(u64, Option<ToolFacts>)| call.1.is_some_and(|facts| facts.runs_beside_others);
    let mut groups = Vec::new();
    let mut start = 0;
    while start < calls.len() {
        let run = calls[start..].iter().take(most.max(1)).take_while(beside).count().max(1);
        groups.push(calls[start..start + run].iter().map(|(key, _)| *key).collect());
        start += run;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_run_together_and_others_alone() {
        let split = |calls: &str, most| {
            let facts = |name| Some(ToolFacts { runs_beside_others: name == 'r', starts_subagent: false });
            let calls: Vec<_> = calls.chars().enumerate().map(|(at, name)| (at as u64, facts(name))).collect();
            groups(&calls, most).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(split("rrwrww", 10), [2, 1, 1, 1, 1]);
        assert_eq!(split("rrrrr", 2), [2, 2, 1]);
        assert_eq!(split("", 10), [] as [usize; 0]);
        assert_eq!(split("r", 0), [1]);
    }
}
