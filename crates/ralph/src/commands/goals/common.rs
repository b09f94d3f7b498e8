//! What the commands for goals share: the store's place, refusals, output.

use crate::environment::Environment;
use crate::say;
use goals::{Goal, GoalError, GoalId, Place};
use serde_json::json;
use wire::ExitCode;

/// A reason not to go on, for a person.
pub struct Refusal(pub(super) String);

impl From<GoalError> for Refusal {
    fn from(error: GoalError) -> Self {
        let hint = error.hint();
        let dot = if hint.is_empty() { "" } else { ". " };
        Self(format!("error: {error}{dot}{hint}"))
    }
}

impl From<String> for Refusal {
    fn from(line: String) -> Self {
        Self(line)
    }
}

pub(super) fn refuse(refusal: &Refusal) -> ExitCode {
    say::err(&refusal.0);
    ExitCode::Failure
}

/// Where the goals are: `RALPH_STORE`, or a file in the state folder.
pub(super) fn place(environment: &Environment) -> Result<Place, Refusal> {
    let state = environment.state_folder().ok_or_else(|| {
        Refusal("error: there is no home folder to keep goals in. Set RALPH_STATE or RALPH_STORE.".into())
    })?;
    Ok(Place::new(environment.get("RALPH_STORE"), &state))
}

pub(super) fn said(json: bool, id: GoalId, line: &str) {
    if json {
        say::out(&format!("{}\n", json!({"goal": id})));
    } else {
        say::out(line);
    }
}

pub(super) fn as_json(goal: &Goal) -> String {
    serde_json::to_string(goal).unwrap_or_default()
}
