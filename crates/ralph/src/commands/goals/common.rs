//! What the commands for goals share: the store's place, output.

use crate::failure::Failure;
use crate::say;
use goals::{Goal, GoalId, Place};
use resolve::Environment;
use serde_json::json;

/// Where the goals are: `RALPH_STORE`, or a file in the state folder.
pub(super) fn place(environment: &Environment) -> Result<Place, Failure> {
    let none = || Failure::settings("there is no home folder to keep goals in").hint("Set RALPH_STATE or RALPH_STORE.");
    Ok(Place::new(environment.get("RALPH_STORE"), &environment.state_folder().ok_or_else(none)?))
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
