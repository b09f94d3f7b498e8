//! Questions of servers to people, and checkouts for agents: hooks may answer, or make and remove them.

use super::notify;
use crate::hearing::{fire_outside, wants};
use crate::shared::Shared;
use hooks::{Elicitation, ElicitationResult, HookAnswer, HookEvent, WorktreeCreate, WorktreeRemove};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What hooks answer to a server's question in a person's place; nothing where they leave it to the person, who
/// is then asked, and somebody told of it.
pub async fn question_comes(shared: &Shared, server: &str, question: &Value) -> Option<Value> {
    let payload = Elicitation { mcp_server_name: server, question: asked(question) };
    let verdict = fire_outside(shared, &payload).await;
    if let Some(answer) = decided(verdict) {
        return Some(answer);
    }
    let message = format!("The MCP server {server} asks: {}", question["message"].as_str().unwrap_or_default());
    notify(shared, None, "elicitation_dialog", &message).await;
    None
}

/// A person's answer as hooks leave it.
pub async fn question_answered(shared: &Shared, server: &str, question: &Value, answer: Value) -> Value {
    let mut question = asked(question);
    for key in ["message", "requested_schema", "url"] {
        question.shift_remove(key);
    }
    let (action, content) = (&answer["action"], answer.get("content"));
    let payload = ElicitationResult { mcp_server_name: server, question, action, content };
    let verdict = fire_outside(shared, &payload).await;
    decided(verdict).unwrap_or(answer)
}

/// The fields of a server's question.
fn asked(question: &Value) -> Map<String, Value> {
    let said = question.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    said.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A refusal declines; what a hook decides otherwise counts as it stands.
fn decided(verdict: HookAnswer) -> Option<Value> {
    let refused = verdict.blocked.or(verdict.stop).map(|_| json!({"action": "decline"}));
    refused.or(verdict.elicitation)
}

/// Where a hook has made the checkout that an agent wants; nothing where no hook makes any.
pub async fn worktree_wanted(shared: &Shared, name: &str) -> Option<Result<PathBuf, String>> {
    if !wants(shared, HookEvent::WorktreeCreate) {
        return None;
    }
    let verdict = fire_outside(shared, &WorktreeCreate { name }).await;
    if let Some(reason) = verdict.blocked.or(verdict.stop) {
        return Some(Err(format!("the WorktreeCreate hook failed: {reason}")));
    }
    let path = verdict.worktree_path.map(|path| shared.options.cwd.join(path.trim()));
    let made = path.filter(|path| path.is_dir());
    Some(made.ok_or_else(|| "the WorktreeCreate hook named no folder".into()))
}

pub async fn worktree_done(shared: &Shared, path: &Path) {
    fire_outside(shared, &WorktreeRemove { worktree_path: path }).await;
}
