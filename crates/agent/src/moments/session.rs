//! A session begins, is shortened, sends agents out, and ends.

use crate::hearing::fire;
use crate::helpers::answers_a_hook;
use crate::shared::{Lane, Role, Shared};
use crate::turn::whisper;
use crate::{Preparation, SessionPlan};
use hooks::{HookAnswer, PostCompact, PreCompact, SessionEnd, SessionStart, Setup, SubagentStart};
use serde_json::json;
use session::UserExtra;
use std::time::Duration;

/// All SessionEnd hooks together, whatever they ask for: a client that closes us waits for the exit.
const SESSION_END: Duration = Duration::from_mins(1);

/// What `--init` and `--maintenance` ask for, before anything else.
pub async fn setup(shared: &Shared, lane: &mut Lane) {
    let trigger = match shared.options.preparation {
        Some(Preparation::Init | Preparation::InitOnly) => "init",
        Some(Preparation::Maintenance) => "maintenance",
        None => return,
    };
    let verdict = fire(shared, lane, &Setup { trigger }).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}

/// Before the first turn, and after the conversation was cleared or compacted.
pub async fn session_starts(shared: &Shared, lane: &mut Lane, source: &str) {
    let (setup, model) = (shared.setup(), shared.model(&lane.role));
    let payload = SessionStart {
        source,
        model: &model,
        agent_type: setup.agent.as_deref(),
        session_title: shared.options.session.title.as_deref(),
    };
    let verdict = fire(shared, lane, &payload).await;
    name_session(shared, lane, &verdict);
    if let Some(message) = &verdict.initial_user_message {
        let message = json!({"role": "user", "content": message});
        lane.transcript.user(&shared.emitter.ids().next(), &message, UserExtra::default());
        lane.conversation.push_user(message["content"].clone());
    }
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}

/// A hook may give the session its title.
pub fn name_session(shared: &Shared, lane: &mut Lane, verdict: &HookAnswer) {
    if let Some(title) = verdict.session_title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
        let session_id = shared.emitter.session_id();
        lane.transcript.meta(&json!({"type": "custom-title", "customTitle": title, "sessionId": session_id}));
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
    let _ = tokio::time::timeout(SESSION_END, fire(shared, lane, &SessionEnd { reason })).await;
}

/// False where a hook forbids the compaction.
pub async fn may_compact(shared: &Shared, lane: &Lane, trigger: &str, wish: Option<&str>) -> bool {
    fire(shared, lane, &PreCompact { trigger, custom_instructions: wish }).await.blocked.is_none()
}

pub async fn compacted(shared: &Shared, lane: &Lane, trigger: &str, summary: &str) {
    fire(shared, lane, &PostCompact { trigger, compact_summary: summary }).await;
}

pub async fn subagent_starts(shared: &Shared, lane: &mut Lane) {
    let Role::Sub(sub) = &lane.role else { return };
    if answers_a_hook(lane) {
        return;
    }
    let verdict = fire(shared, lane, &SubagentStart { agent_id: &sub.agent_id, agent_type: &sub.agent_type }).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}
