//! A session begins, is shortened, sends agents out, and ends.

use super::fields;
use crate::hearing::fire;
use crate::helpers::answers_a_hook;
use crate::hooks::{HookEvent, Verdict};
use crate::shared::{Lane, Role, Shared};
use crate::turn::whisper;
use crate::{Preparation, SessionPlan};
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
    let fields = fields([("trigger", json!(trigger))]);
    let verdict = fire(shared, lane, HookEvent::Setup, Some(trigger), fields, None).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}

/// Before the first turn, and after the conversation was cleared or compacted.
pub async fn session_starts(shared: &Shared, lane: &mut Lane, source: &str) {
    let mut fields = fields([("source", json!(source)), ("model", json!(shared.model(&lane.role)))]);
    let setup = shared.setup();
    fields.extend(setup.agent.as_ref().map(|agent| ("agent_type".to_owned(), json!(agent))));
    let title = shared.options.session.title.as_ref();
    fields.extend(title.map(|title| ("session_title".to_owned(), json!(title))));
    let verdict = fire(shared, lane, HookEvent::SessionStart, Some(source), fields, None).await;
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
pub fn name_session(shared: &Shared, lane: &mut Lane, verdict: &Verdict) {
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
    let fields = fields([("reason", json!(reason))]);
    let _ =
        tokio::time::timeout(SESSION_END, fire(shared, lane, HookEvent::SessionEnd, Some(reason), fields, None)).await;
}

/// False where a hook forbids the compaction.
pub async fn may_compact(shared: &Shared, lane: &Lane, trigger: &str, wish: Option<&str>) -> bool {
    let fields = fields([("trigger", json!(trigger)), ("custom_instructions", json!(wish))]);
    let verdict = fire(shared, lane, HookEvent::PreCompact, Some(trigger), fields, None).await;
    verdict.blocked.is_none()
}

pub async fn compacted(shared: &Shared, lane: &Lane, trigger: &str, summary: &str) {
    let fields = fields([("trigger", json!(trigger)), ("compact_summary", json!(summary))]);
    fire(shared, lane, HookEvent::PostCompact, Some(trigger), fields, None).await;
}

pub async fn subagent_starts(shared: &Shared, lane: &mut Lane) {
    let Role::Sub(sub) = &lane.role else { return };
    if answers_a_hook(lane) {
        return;
    }
    let fields = fields([("agent_id", json!(sub.agent_id)), ("agent_type", json!(sub.agent_type))]);
    let kind = sub.agent_type.clone();
    let verdict = fire(shared, lane, HookEvent::SubagentStart, Some(&kind), fields, None).await;
    for text in verdict.contexts {
        whisper(shared, lane, &text);
    }
}
