//! SendMessage and ListAgents: what the main conversation says to agents that it has started.
//!
//! Deliberately absent: the agents themselves and how a message reaches one (`subagents`).

use super::error::CallError;
use policy::names;
use serde_json::Value;
use tools::ToolSpec;

pub static SPECS: [ToolSpec; 2] = [
    ToolSpec::alone(
        &names::SEND_MESSAGE,
        "Say something to an agent that you have started, by its id or name. One that is at work reads it before its next step; one that has finished \
         goes on in the background with all it knows, and you are told when it has finished again.",
        r#"{"type":"object","properties":{"to":{"type":"string","description":"The agent's id or name"},"message":{"type":"string","description":"What it should know or do next"},"summary":{"type":"string","description":"The same in a few words, for the user"},"notify_when_idle":{"type":"boolean","description":"You are told in any case"}},"required":["to","message"],"additionalProperties":false}"#,
    ),
    ToolSpec::beside_others(
        &names::LIST_AGENTS,
        "The agents of this session: ids, names, tasks, and whether they are at work.",
        r#"{"type":"object","properties":{},"additionalProperties":false}"#,
    ),
];

/// What the schema cannot say.
pub(super) fn check(input: &Value) -> Result<(), CallError> {
    let is_empty = |field: &str| input[field].as_str().is_some_and(|text| text.trim().is_empty());
    if is_empty("to") || is_empty("message") { Err(CallError::EmptyMessage) } else { Ok(()) }
}
