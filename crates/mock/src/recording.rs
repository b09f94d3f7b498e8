//! A recording, read as a script.

use crate::ScriptedAnswer;
use crate::request_key::RequestKey;
use crate::script::{ScriptError, turn};
use serde_json::Value;

/// The member that marks a recording's first line, and its version.
pub(crate) const MARK: &str = "recording";
pub(crate) const VERSION: u64 = 1;

/// An answer that was recorded, and what it answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub(crate) asked: RequestKey,
    pub(crate) turn: ScriptedAnswer,
}

pub(crate) fn is_recording(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    serde_json::from_str::<Value>(first).is_ok_and(|line| line.get(MARK).is_some())
}

/// The answers of a recording. A torn last line is a recorder that was killed, and left out.
pub(crate) fn read(text: &str) -> Result<Vec<Exchange>, ScriptError> {
    let bad = |number: usize, why: String| ScriptError::BadTurn { place: format!("line {number}"), why };
    let mut exchanges = Vec::new();
    let lines = text.lines().count();
    for (at, line) in text.lines().enumerate().skip(1) {
        let mut line: Value = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(_) if at + 1 == lines && !text.ends_with('\n') => break,
            Err(error) => return Err(bad(at + 1, error.to_string())),
        };
        let asked = serde_json::from_value(line["request"].take()).map_err(|error| bad(at + 1, error.to_string()))?;
        let turn = turn(&format!("line {}: turn", at + 1), line["turn"].take())?;
        exchanges.push(Exchange { asked, turn });
    }
    if exchanges.is_empty() { Err(ScriptError::NothingRecorded) } else { Ok(exchanges) }
}
