//! The moments of a session and a turn at which hooks are asked or told.

use crate::hearing::fire;
use crate::hooks::HookEvent;
use crate::shared::{Lane, Role, Shared};
use crate::turn::{End, Turn, synthetic, whisper};
use crate::{SessionPlan, front};
use serde_json::{Map, Value, json};
use std::time::Duration;
use wire::{Event, System};

/// All SessionEnd hooks together: a client that closes us waits for the exit.
const SESSION_END: Duration = Duration::from_millis(1500);

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Before the first turn, and after the conversation was cleared or compacted.
pub async fn session_starts(shared: &Shared, lane: &mut Lane, source: &str) {
    let model = shared.model(&lane.role);
    let fields = fields([("source", json!(source)), ("model", json!(model))]);
    let verdict = fire(shared, lane, HookEvent::SessionStart, Some(source), fields, None).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}

pub fn start_source(shared: &Shared) -> &'static str {
    match &shared.options.session.plan {
        SessionPlan::New => "startup",
        SessionPlan::Resume { .. } => "resume",
        SessionPlan::Fork { .. } => "fork",
    }
}

pub async fn session_ends(shared: &Shared, lane: &Lane, reason: &str) {
    let fields = fields([("reason", json!(reason))]);
    let _ =
        tokio::time::timeout(SESSION_END, fire(shared, lane, HookEvent::SessionEnd, Some(reason), fields, None)).await;
}

/// What hooks add to a prompt, or why they refuse it.
pub async fn prompt_comes(shared: &Shared, lane: &Lane, prompt: &str) -> Result<Vec<String>, String> {
    let fields = fields([("prompt", json!(prompt))]);
    let verdict = fire(shared, lane, HookEvent::UserPromptSubmit, None, fields, None).await;
    match verdict.blocked.or(verdict.stop) {
        Some(reason) => Err(format!("A hook refused the prompt: {reason}")),
        None => Ok(verdict.contexts),
    }
}

/// The model wants to end its turn. `None` where a hook sends it on.
pub async fn turn_ends(shared: &Shared, lane: &mut Lane, turn: &mut Turn) -> Option<End> {
    let active = turn.stop_blocks > 0;
    let common = [("stop_hook_active", json!(active)), ("last_assistant_message", json!(turn.last_text))];
    let mut fields = fields(common);
    let event = match &lane.role {
        Role::Main => HookEvent::Stop,
        Role::Sub(sub) => {
            fields.insert("agent_id".into(), json!(sub.agent_id));
            fields.insert("agent_type".into(), json!(sub.agent_type));
            HookEvent::SubagentStop
        }
    };
    let subject = match &lane.role {
        Role::Main => None,
        Role::Sub(sub) => Some(sub.agent_type.clone()),
    };
    let verdict = fire(shared, lane, event, subject.as_deref(), fields, None).await;
    if let Some(reason) = verdict.stop {
        return Some(End::HookStopped(reason));
    }
    let Some(reason) = verdict.blocked else {
        return Some(End::Done);
    };
    if turn.stop_blocks >= shared.options.stop_block_cap {
        front::warn(&format!(
            "warning: Stop hooks blocked {} times in a row; the turn ends all the same",
            turn.stop_blocks
        ));
        return Some(End::Done);
    }
    turn.stop_blocks += 1;
    synthetic(shared, lane, turn, &format!("Stop hook feedback:\n{reason}")).await;
    if lane.role.is_main() {
        let notice = System::Notification {
            key: "stop-hook-error",
            // Clients of the reference know this very line.
            text: "Stop hook error occurred · ctrl+o to see".into(),
            priority: "immediate",
        };
        shared.emitter.send(Event::System(notice)).await;
    }
    None
}

/// False where a hook forbids the compaction.
pub async fn may_compact(shared: &Shared, lane: &Lane, trigger: &str) -> bool {
    let fields = fields([("trigger", json!(trigger)), ("custom_instructions", Value::Null)]);
    let verdict = fire(shared, lane, HookEvent::PreCompact, Some(trigger), fields, None).await;
    verdict.blocked.is_none()
}

pub async fn compacted(shared: &Shared, lane: &Lane, trigger: &str, summary: &str) {
    let fields = fields([("trigger", json!(trigger)), ("compact_summary", json!(summary))]);
    fire(shared, lane, HookEvent::PostCompact, Some(trigger), fields, None).await;
}

pub async fn subagent_starts(shared: &Shared, lane: &mut Lane) {
    let Role::Sub(sub) = &lane.role else { return };
    let fields = fields([("agent_id", json!(sub.agent_id)), ("agent_type", json!(sub.agent_type))]);
    let kind = sub.agent_type.clone();
    let verdict = fire(shared, lane, HookEvent::SubagentStart, Some(&kind), fields, None).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}
