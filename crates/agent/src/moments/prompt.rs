//! A prompt comes, and a command in it is about to become its text.

use super::session::name_session;
use crate::hearing::fire;
use crate::shared::{Lane, Shared};
use hooks::{UserPromptExpansion, UserPromptSubmit};

/// What hooks add to a prompt, or why they refuse it.
pub async fn prompt_comes(shared: &Shared, lane: &mut Lane, prompt: &str) -> Result<Vec<String>, String> {
    let verdict = fire(shared, lane, &UserPromptSubmit { prompt }).await;
    if let Some(reason) = verdict.blocked.as_ref().or(verdict.stop.as_ref()) {
        return Err(format!("A hook refused the prompt: {reason}"));
    }
    name_session(shared, lane, &verdict);
    Ok(verdict.contexts)
}

/// What hooks add to a command that was typed, or why they refuse it, before any of it is read or run.
pub async fn prompt_expands(
    shared: &Shared,
    lane: &Lane,
    command: &UserPromptExpansion<'_>,
) -> Result<Vec<String>, String> {
    let verdict = fire(shared, lane, command).await;
    match verdict.blocked.or(verdict.stop) {
        Some(reason) => Err(format!("A hook refused /{}: {reason}", command.command_name)),
        None => Ok(verdict.contexts),
    }
}
