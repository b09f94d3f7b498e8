//! A batch of calls is done, the model wants to end its turn, or the turn fails.

use crate::ask::ToolCall;
use crate::front;
use crate::hearing::{self, fire};
use crate::helpers::answers_a_hook;
use crate::own::background;
use crate::shared::{Lane, Role, Shared};
use crate::turn::{End, Turn, synthetic, whisper};
use hooks::{BackgroundTask, BatchCall, HookAnswer, HookEvent, PostToolBatch, Stop, StopFailure, SubagentStop};
use tools::{Outcome, Status};
use wire::{Event, Notification, System};

/// Characters of a task's description and command that a hook is told; the contract's number.
const LONGEST_DESCRIPTION: usize = 1_000;

/// All calls of one answer have their results; `Some` where a hook ends the turn here.
pub async fn batch_done(shared: &Shared, lane: &mut Lane, batch: &[(ToolCall, Outcome)]) -> Option<End> {
    if !hearing::wants(shared, HookEvent::PostToolBatch) {
        return None;
    }
    let calls = batch.iter().map(|(call, outcome)| BatchCall {
        tool_name: &call.name,
        tool_input: &call.input,
        tool_use_id: &call.id,
        tool_response: &outcome.structured,
    });
    let verdict = fire(shared, lane, &PostToolBatch { tool_calls: calls.collect() }).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
    verdict.stop.or(verdict.blocked).map(End::HookStopped)
}

/// The model wants to end its turn. `None` where a hook sends it on.
pub async fn turn_ends(shared: &Shared, lane: &mut Lane, turn: &mut Turn) -> Option<End> {
    if answers_a_hook(lane) {
        return Some(End::Done);
    }
    let (event, verdict) = fire_stop(shared, lane, turn).await;
    if let Some(reason) = verdict.stop {
        return Some(End::HookStopped(reason));
    }
    let Some(reason) = verdict.blocked else {
        return Some(End::Done);
    };
    if turn.stop_blocks >= shared.options.stop_block_cap {
        front::warn(&format!(
            "warning: {} hooks blocked {} times in a row; the turn ends all the same",
            event.as_str(),
            turn.stop_blocks
        ));
        return Some(End::Done);
    }
    turn.stop_blocks += 1;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
    synthetic(shared, lane, turn, &format!("Stop hook feedback:\n{reason}")).await;
    if lane.role.is_main() {
        let notice = Notification {
            key: "stop-hook-error".into(),
            // Clients of the reference know this very line.
            text: "Stop hook error occurred · ctrl+o to see".into(),
            priority: "immediate".into(),
            ..Notification::default()
        };
        shared.emitter.send(Event::System(System::Notification(notice))).await;
    }
    None
}

/// `Stop` of the main conversation, `SubagentStop` of a sub-agent.
async fn fire_stop(shared: &Shared, lane: &Lane, turn: &Turn) -> (HookEvent, HookAnswer) {
    let (stop_hook_active, last_assistant_message) = (turn.stop_blocks > 0, turn.last_text.as_str());
    let background_tasks: &[BackgroundTask] = &background_tasks(shared);
    let session_crons = &[];
    match &lane.role {
        Role::Main => {
            let payload = Stop { stop_hook_active, last_assistant_message, background_tasks, session_crons };
            (HookEvent::Stop, fire(shared, lane, &payload).await)
        }
        Role::Sub(sub) => {
            let payload = SubagentStop {
                stop_hook_active,
                last_assistant_message,
                background_tasks,
                session_crons,
                agent_id: &sub.agent_id,
                agent_type: &sub.agent_type,
                agent_transcript_path: &agent_transcript(shared, &sub.agent_id),
            };
            (HookEvent::SubagentStop, fire(shared, lane, &payload).await)
        }
    }
}

/// The turn ends because the API failed; nothing can be decided any more.
pub async fn turn_fails(shared: &Shared, lane: &Lane, turn: &Turn, end: &End) {
    let End::Api(failure) = end else { return };
    let payload = StopFailure {
        error: failure.category,
        error_details: &failure.message,
        last_assistant_message: &turn.last_text,
    };
    fire(shared, lane, &payload).await;
}

/// Tells a session that is done from one that waits for its background work.
fn background_tasks(shared: &Shared) -> Vec<BackgroundTask> {
    let running = shared.kit.tasks.list().into_iter().filter(|task| task.status == Status::Running);
    running
        .map(|task| BackgroundTask {
            kind: if task.kind == background::KIND { "subagent" } else { "shell" },
            status: task.status.as_str(),
            description: clipped(&task.description),
            command: task.command.as_deref().map(clipped),
            id: task.id,
        })
        .collect()
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}… [+{} chars]", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

fn agent_transcript(shared: &Shared, agent_id: &str) -> String {
    let options = &shared.options;
    let project = options.session.project_dir_name.as_deref();
    let store = session::Store::new(&options.places.config_dir, &options.cwd, project);
    store.agent_path(&shared.emitter.session_id(), agent_id).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::clipped;

    #[test]
    fn long_descriptions_say_how_much_is_missing() {
        assert_eq!(clipped("short"), "short");
        let long = clipped(&"é".repeat(1_003));
        assert!(long.ends_with("é… [+3 chars]") && long.chars().count() == 1_000 + "… [+3 chars]".chars().count());
    }
}
