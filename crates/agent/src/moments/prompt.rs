//! A prompt comes, and a command in it is about to become its text.

use super::fields;
use super::session::name_session;
use crate::hearing::fire;
use crate::hooks::HookEvent;
use crate::shared::{Lane, Shared};
use serde_json::json;

/// What hooks add to a prompt, or why they refuse it.
pub async fn prompt_comes(shared: &Shared, lane: &mut Lane, prompt: &str) -> Result<Vec<String>, String> {
    let fields = fields([("prompt", json!(prompt))]);
    let verdict = fire(shared, lane, HookEvent::UserPromptSubmit, None, fields, None).await;
    if let Some(reason) = verdict.blocked.as_ref().or(verdict.stop.as_ref()) {
        return Err(format!("A hook refused the prompt: {reason}"));
    }
    name_session(shared, lane, &verdict);
    Ok(verdict.contexts)
}

/// A command that was typed, before any of it is read or run.
pub struct Expansion<'a> {
    /// `slash_command` or `mcp_prompt`.
    pub kind: &'static str,
    pub name: &'a str,
    pub args: &'a str,
    pub source: &'a str,
    pub prompt: &'a str,
}

/// What hooks add to a command, or why they refuse it.
pub async fn prompt_expands(shared: &Shared, lane: &Lane, command: &Expansion<'_>) -> Result<Vec<String>, String> {
    let fields = fields([
        ("expansion_type", json!(command.kind)),
        ("command_name", json!(command.name)),
        ("command_args", json!(command.args)),
        ("command_source", json!(command.source)),
        ("prompt", json!(command.prompt)),
    ]);
    let verdict = fire(shared, lane, HookEvent::UserPromptExpansion, Some(command.name), fields, None).await;
    match verdict.blocked.or(verdict.stop) {
        Some(reason) => Err(format!("A hook refused /{}: {reason}", command.name)),
        None => Ok(verdict.contexts),
    }
}
