//! The tool calls of one answer: checked, permitted, run, and their results sent back.
//!
//! Neighbouring calls that only read run at the same time; all others one after another. Results
//! leave in the order of the calls, and every call gets exactly one, whatever happened to it.

use crate::after;
use crate::ask::ToolCall;
use crate::outside;
use crate::own;
use crate::permit::{Permitted, Refused, permit};
use crate::shared::{Lane, Shared};
use crate::toolset::canonical;
use crate::turn::{End, Turn};
use futures_util::future::join_all;
use policy::Targets;
use serde_json::{Map, Value, json};
use session::UserExtra;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tools::{Content, ErrorFlag, Invocation, Outcome, Target, TaskInfo};
use wire::{Event, System, TaskStarted, ToolProgress, User};

/// A running tool shows signs of life this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What the model and the client are told of a call that an interrupt cut off.
pub const INTERRUPTED: &str = "[Request interrupted by user for tool use]";

/// A finished call.
pub struct Done {
    pub outcome: Outcome,
    /// Text to put into the conversation after the results, such as a skill's body.
    pub follow_up: Option<String>,
    /// Valid structured output ends the turn.
    pub structured: Option<Value>,
    pub cancelled: bool,
    /// What hooks want the model to know.
    pub contexts: Vec<String>,
    /// A hook wants the run to stop.
    pub stop: Option<String>,
    /// The tool says that its success ends the turn.
    pub ends_turn: bool,
    /// Set where the tool itself was reached: then hooks hear how it went.
    pub ran: Option<Ran>,
    /// A hook wants the call decided later, by whoever goes on with the session.
    pub deferred: bool,
}

/// A call that came past every permission.
pub struct Ran {
    /// As hooks and the client have left it.
    input: Value,
    since: Instant,
}

impl Done {
    /// What the tool came to, of a call that was permitted.
    #[must_use]
    pub fn of(mut self, permitted: Permitted) -> Self {
        self.contexts.extend(permitted.contexts);
        self.ran = Some(Ran { input: permitted.input, since: permitted.since });
        self
    }
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            follow_up: None,
            structured: None,
            cancelled: false,
            contexts: Vec::new(),
            stop: None,
            ends_turn: false,
            ran: None,
            deferred: false,
        }
    }
}

impl From<Refused> for Done {
    fn from(refused: Refused) -> Self {
        Self {
            cancelled: refused.interrupt,
            stop: refused.stop,
            deferred: refused.deferred,
            ..Self::from(Outcome::error(refused.words))
        }
    }
}

/// Runs them all; `Some` where the turn ends here.
pub async fn run_all(shared: &Rc<Shared>, lane: &mut Lane, turn: &mut Turn, calls: Vec<ToolCall>) -> Option<End> {
    turn.tool_uses += calls.len() as u64;
    let calls: Vec<ToolCall> = calls.into_iter().map(|call| meant(shared, call)).collect();
    let mut results = Vec::new();
    let mut follow_ups = Vec::new();
    let mut interrupted = false;
    let mut contexts = Vec::new();
    let mut stop = None;
    let mut ends_turn = false;
    let mut batch = Vec::new();
    if lane.role.is_main() {
        shared.live.ear.single_call.set(calls.len() == 1);
    }
    for group in groups(&calls, |call| runs_beside_others(lane, call), shared.options.tools.concurrency) {
        let done = join_all(group.iter().map(|call| run_one(shared, lane, call, interrupted))).await;
        for task in shared.kit.tasks.take_started() {
            announce(shared, task).await;
        }
        for (call, done) in group.iter().zip(done) {
            if done.deferred {
                return Some(put_off(shared, lane, turn, call));
            }
            interrupted |= done.cancelled;
            if let Some(value) = done.structured {
                turn.structured = Some(value);
            } else if call.name == own::STRUCTURED_OUTPUT && done.outcome.is_error() {
                turn.schema_failures += 1;
            }
            follow_ups.extend(done.follow_up);
            contexts.extend(done.contexts);
            stop = stop.or(done.stop);
            ends_turn |= done.ends_turn;
            let outcome = shared.secrets.hide(done.outcome);
            results.push(report(shared, lane, turn, call, &outcome).await);
            batch.push((call.clone(), outcome));
        }
    }
    lane.conversation.push_user(Value::Array(results));
    if let Some((call, _)) = batch.last() {
        own::progress(shared, lane, turn, &call.name).await;
    }
    for text in follow_ups {
        crate::turn::synthetic(shared, lane, turn, &text).await;
    }
    for text in contexts {
        crate::turn::whisper(shared, lane, &text);
    }
    if interrupted {
        return end_after(shared, turn, interrupted);
    }
    let batch_end = crate::moments::batch_done(shared, lane, &batch).await;
    let unanswered = shared.live.no_prompter.borrow().clone();
    let stopped = unanswered.map(End::NoPrompter).or(stop.map(End::HookStopped)).or(batch_end);
    stopped.or_else(|| end_after(shared, turn, interrupted)).or(ends_turn.then_some(End::Done))
}

/// The client may have given a tool's name to another one; such a call is its, for rules and hooks too.
fn meant(shared: &Shared, call: ToolCall) -> ToolCall {
    match shared.setup().tool_aliases.get(&call.name) {
        Some(name) => ToolCall { name: name.clone(), ..call },
        None => call,
    }
}

/// The run ends before the call: whoever resumes the session has the hooks asked about it again.
fn put_off(shared: &Shared, lane: &mut Lane, turn: &mut Turn, call: &ToolCall) -> End {
    let put_off = json!({"id": call.id, "name": call.name, "input": call.input});
    let fields =
        json!({"content": "Tool call deferred", "deferredToolUse": put_off, "sourceToolAssistantUUID": call.entry});
    lane.transcript.system(&shared.emitter.ids().next(), session::TOOL_DEFERRED, &fields, false);
    Shared::report_transcript(lane);
    turn.stop_reason = Some(session::TOOL_DEFERRED.into());
    shared.live.deferred.replace(Some(call.clone()));
    End::Deferred(put_off)
}

/// Tells the client of a background task; always before the result of the call that started it.
pub async fn announce(shared: &Shared, task: TaskInfo) {
    // An agent has been told of by whoever sent it, who knows more of it.
    if task.kind == own::background::KIND {
        return;
    }
    let started = TaskStarted {
        task_id: task.id,
        tool_use_id: task.tool_use_id,
        description: task.description,
        task_type: task.kind.into(),
        is_backgrounded: Some(true),
        ..TaskStarted::default()
    };
    shared.emitter.send(Event::System(System::TaskStarted(Box::new(started)))).await;
}

fn end_after(shared: &Shared, turn: &Turn, interrupted: bool) -> Option<End> {
    let retries = shared.options.limits.schema_retries;
    if interrupted {
        Some(End::Interrupted { streaming: false })
    } else if turn.structured.is_some() {
        Some(End::Done)
    } else if turn.schema_failures >= retries && turn.schema_failures > 0 {
        Some(End::SchemaRetries(turn.schema_failures))
    } else {
        None
    }
}

fn runs_beside_others(lane: &Lane, call: &ToolCall) -> bool {
    lane.toolset.find(&call.name).is_some_and(|tool| tool.may_run_beside_others)
}

/// Runs of read-only calls, at most `most` long; every other call alone.
fn groups<T>(calls: &[T], beside: impl Fn(&T) -> bool, most: usize) -> Vec<&[T]> {
    let mut groups = Vec::new();
    let mut start = 0;
    while start < calls.len() {
        let run = calls[start..].iter().take(most.max(1)).take_while(|call| beside(call)).count().max(1);
        groups.push(&calls[start..start + run]);
        start += run;
    }
    groups
}

async fn run_one(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall, already_interrupted: bool) -> Done {
    if already_interrupted {
        return cancelled();
    }
    let work = alive(shared, lane, call, Box::pin(prepared(shared, lane, call)));
    lane.cancel.guard(Box::pin(work)).await.unwrap_or_else(|_| cancelled())
}

fn cancelled() -> Done {
    Done { cancelled: true, ..Done::from(Outcome::error(INTERRUPTED)) }
}

/// The call, and what hooks make of it once the tool has run.
async fn prepared(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall) -> Done {
    let mut done = reached(shared, lane, call).await;
    match done.ran.take() {
        Some(ran) => after::run_post_hooks(shared, lane, call, &ran.input, done, ran.since.elapsed()).await,
        None => done,
    }
}

/// Everything between the model's call and the tool itself.
async fn reached(shared: &Rc<Shared>, lane: &Lane, call: &ToolCall) -> Done {
    let name = canonical(&call.name);
    if lane.toolset.find(name).is_none() {
        return Outcome::misuse(format!("Error: No such tool available: {}", call.name)).into();
    }
    if let Some(raw) = &call.bad_input {
        let start: String = raw.chars().take(200).collect();
        return Outcome::misuse(format!(
            "The input of {name} was not valid JSON (it began: {start}). Call it again with a complete JSON object."
        ))
        .into();
    }
    if outside::is_outside(name) {
        return outside::run(shared, lane, call).await;
    }
    if let Some(tool) = outside::resources::tool(shared, name) {
        return outside::resources::run(shared, lane, call, &*tool).await;
    }
    if own::is_own(name) {
        return own::run(shared, lane, call).await;
    }
    let Some(tool) = tools::find(name) else {
        return Outcome::misuse(format!("No such tool available: {name}")).into();
    };
    let (input, targets) = match checked(lane, name, &call.input) {
        Ok(checked) => checked,
        Err(problem) => return problem.into(),
    };
    let permitted = match permit(shared, lane, &call.id, name, input, targets).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    for target in permitted.targets.iter().filter(|target| target.write) {
        shared.checkpoints.before_write(&target.real);
    }
    let targets = Targets::paths(permitted.targets.clone());
    let invocation =
        Invocation { tool_use_id: &call.id, input: &permitted.input, targets: &targets, run: permitted.run.as_deref() };
    let before = lane.tools.workspace.cwd();
    let outcome = tools::run(tool, invocation, &lane.tools).await;
    let now = lane.tools.workspace.cwd();
    if now != before {
        crate::moments::cwd_changed(shared, lane, &before, &now).await;
    }
    Done::from(outcome).of(permitted)
}

/// An input that the tool understands, and the paths it touches. Tools of the conversation and from
/// outside look at their input themselves and touch none.
pub fn checked(lane: &Lane, name: &str, input: &Value) -> Result<(Value, Vec<Target>), Outcome> {
    let Some(tool) = tools::find(name) else { return Ok((input.clone(), Vec::new())) };
    let input = tool.validate(name, input)?;
    let targets = tool.targets(&input, &lane.tools.workspace).map_err(|error| Outcome::error(error.to_string()))?;
    Ok((input, targets.paths))
}

/// Tells the client now and then that a long call is still running.
async fn alive(shared: &Shared, lane: &Lane, call: &ToolCall, work: impl Future<Output = Done>) -> Done {
    let started = Instant::now();
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(HEARTBEAT) => {
                let progress = ToolProgress {
                    tool_use_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    parent_tool_use_id: lane.role.parent_tool_use_id(),
                    elapsed_time_seconds: started.elapsed().as_secs(),
                    heartbeat: true,
                    ..ToolProgress::default()
                };
                shared.emitter.send(Event::ToolProgress(progress)).await;
            }
        }
    }
}

/// One result: a line for the client, an entry in the transcript, a block for the model.
async fn report(shared: &Shared, lane: &mut Lane, turn: &mut Turn, call: &ToolCall, outcome: &Outcome) -> Value {
    let block = result_block(&call.id, outcome);
    let message = json!({"role": "user", "content": [block]});
    let entry = shared.emitter.ids().next();
    turn.user_messages += 1;
    let extra = UserExtra {
        tool_use_result: Some(&outcome.structured),
        source_assistant: Some(&call.entry),
        ..UserExtra::default()
    };
    lane.transcript.user(&entry, &message, extra);
    Shared::report_transcript(lane);
    let event = User {
        message: message.into(),
        parent_tool_use_id: lane.role.parent_tool_use_id(),
        timestamp: crate::clock::now_iso(),
        tool_use_result: Some(outcome.structured.clone()),
        ..User::default()
    };
    shared.emitter.send_as(Event::User(Box::new(event)), &entry).await;
    block
}

pub fn result_block(tool_use_id: &str, outcome: &Outcome) -> Value {
    let content = match &outcome.content {
        Content::Text(text) => Value::String(text.clone()),
        Content::Blocks(blocks) => Value::Array(blocks.clone()),
    };
    let mut block = Map::new();
    block.insert("tool_use_id".into(), json!(tool_use_id));
    block.insert("type".into(), json!("tool_result"));
    block.insert("content".into(), content);
    match outcome.flag {
        ErrorFlag::Absent => {}
        ErrorFlag::No => drop(block.insert("is_error".into(), json!(false))),
        ErrorFlag::Yes => drop(block.insert("is_error".into(), json!(true))),
    }
    Value::Object(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_run_together_and_writers_alone() {
        let split = |calls: &str, most| {
            groups(&calls.chars().collect::<Vec<_>>(), |call| *call == 'r', most)
                .iter()
                .map(|group| group.iter().collect::<String>())
                .collect::<Vec<_>>()
        };
        assert_eq!(split("rrwrww", 10), ["rr", "w", "r", "w", "w"]);
        assert_eq!(split("rrrrr", 2), ["rr", "rr", "r"]);
        assert_eq!(split("", 10), [""; 0]);
        assert_eq!(split("r", 0), ["r"]);
    }
}
