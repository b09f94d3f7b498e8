//! Content blocks of an agent's messages as events that are the same for every backend.

use crate::text::bounded;
use crate::{AgentText, EventKind, TodoItem, TodoState, ToolCall, ToolResult};
use wire::ToolUse;

/// What an event carries of a tool's result; the whole is in the agent's line.
const RESULT_MAX: usize = 128 * 1024;

fn speech(iteration: u32, text: &str, parent: Option<&str>) -> AgentText {
    AgentText { iteration, text: text.to_owned(), partial: false, parent: parent.map(str::to_owned) }
}

pub(crate) fn text(iteration: u32, text: &str, parent: Option<&str>) -> EventKind {
    EventKind::AgentText(speech(iteration, text, parent))
}

/// Some models keep their thoughts to themselves and send an empty block.
pub(crate) fn thinking(iteration: u32, text: &str, parent: Option<&str>) -> Option<EventKind> {
    (!text.is_empty()).then(|| EventKind::AgentThinking(speech(iteration, text, parent)))
}

/// A piece of a streaming message.
pub(crate) fn partial(iteration: u32, text: String, parent: Option<&str>) -> AgentText {
    AgentText { iteration, text, partial: true, parent: parent.map(str::to_owned) }
}

pub(crate) fn tool_call(iteration: u32, block: &ToolUse<'_>, parent: Option<&str>) -> ToolCall {
    ToolCall {
        iteration,
        id: block.id.to_owned(),
        name: block.name.unwrap_or("unknown").to_owned(),
        input: block.input.clone(),
        parent: parent.map(str::to_owned),
    }
}

pub(crate) fn tool_result(iteration: u32, block: &wire::ToolResult<'_>, parent: Option<&str>) -> ToolResult {
    ToolResult {
        iteration,
        id: block.tool_use_id.to_owned(),
        is_error: block.is_error,
        text: bounded(&block.text(), RESULT_MAX),
        parent: parent.map(str::to_owned),
    }
}

/// The agent's own list of things to do.
pub(crate) fn todo(call: &ToolCall) -> Option<EventKind> {
    if call.name != "TodoWrite" || call.parent.is_some() {
        return None;
    }
    let items = call.input["todos"].as_array()?.iter().filter_map(|todo| {
        let state = match todo["status"].as_str()? {
            "completed" => TodoState::Done,
            "in_progress" => TodoState::Active,
            _ => TodoState::Open,
        };
        Some(TodoItem { text: todo["content"].as_str()?.to_owned(), state })
    });
    Some(EventKind::Todo { items: items.collect() })
}
