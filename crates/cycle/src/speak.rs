//! Content blocks of an agent's messages in the universal words.

use crate::text::bounded;
use crate::{EventKind, Speech, TodoItem, TodoState, ToolCall, ToolResult};
use serde_json::Value;

/// What an event carries of a tool's result; the whole is in the agent's line.
const RESULT_MAX: usize = 128 * 1024;

/// A message's content: a list of blocks, or a plain string.
pub(crate) fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

fn speech(iteration: u32, text: &str, parent: Option<&str>) -> Speech {
    Speech { iteration, text: text.to_owned(), partial: false, parent: parent.map(str::to_owned) }
}

pub(crate) fn text(iteration: u32, text: &str, parent: Option<&str>) -> EventKind {
    EventKind::AgentText(speech(iteration, text, parent))
}

/// Some models keep their thoughts to themselves and send an empty block.
pub(crate) fn thinking(iteration: u32, block: &Value, parent: Option<&str>) -> Option<EventKind> {
    let text = block["thinking"].as_str().filter(|text| !text.is_empty())?;
    Some(EventKind::AgentThinking(speech(iteration, text, parent)))
}

/// A piece of a streaming message.
pub(crate) fn partial(iteration: u32, event: &Value, parent: Option<&str>) -> Option<EventKind> {
    let delta = &event["delta"];
    let piece = |text: &str| Speech { partial: true, ..speech(iteration, text, parent) };
    match delta["type"].as_str()? {
        "text_delta" => Some(EventKind::AgentText(piece(delta["text"].as_str()?))),
        "thinking_delta" => Some(EventKind::AgentThinking(piece(delta["thinking"].as_str()?))),
        _ => None,
    }
}

pub(crate) fn tool_call(iteration: u32, block: &Value, parent: Option<&str>) -> ToolCall {
    ToolCall {
        iteration,
        id: block["id"].as_str().unwrap_or_default().to_owned(),
        name: block["name"].as_str().unwrap_or("unknown").to_owned(),
        input: block["input"].clone(),
        parent: parent.map(str::to_owned),
    }
}

pub(crate) fn tool_result(iteration: u32, block: &Value, parent: Option<&str>) -> ToolResult {
    ToolResult {
        iteration,
        id: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        is_error: block["is_error"].as_bool().unwrap_or(false),
        text: bounded(&result_text(&block["content"]), RESULT_MAX),
        parent: parent.map(str::to_owned),
    }
}

fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().map(|block| match block["type"].as_str() {
                Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
                Some(other) => format!("[{other}]"),
                None => String::new(),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
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
