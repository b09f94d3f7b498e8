//! Reading a conversation back so that it can go on.

use crate::index::{Index, Kind};
use crate::lines::{Lines, Span};
use crate::{SessionError, attachment, chain, history};
use serde_json::Value;
use std::path::Path;

/// The `system` entry that says which call a hook put off: in `deferredToolUse`, with the entry that made the
/// call in `sourceToolAssistantUUID`.
pub const TOOL_DEFERRED: &str = "tool_deferred";

/// A conversation as it stands in its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// What to send to the API: alternating roles, every tool call answered.
    pub messages: Vec<Value>,
    /// The entry that the next one follows.
    pub leaf: Option<String>,
    pub last_prompt: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    pub title: Option<String>,
    pub lines: usize,
    /// Lines that could not be read: torn or foreign.
    pub skipped_lines: usize,
    /// The entry of a tool call that was put off, where nothing has happened since. That call has no result.
    pub deferred: Option<Value>,
    /// What the session has cost so far, as its last `cost-state` line says.
    pub cost_state: Option<Value>,
    /// The jobs by the clock, as the last `scheduled-jobs` line says.
    pub jobs: Option<Value>,
    /// With [`load_until`]: the prompts whose turns lose something, in order.
    pub dropped_turns: Vec<String>,
}

/// The conversation up to its last entry.
pub fn load(path: &Path) -> Result<Loaded, SessionError> {
    let index = read(path)?;
    let leaf = chain::leaf(&index).ok_or_else(|| SessionError::Empty { path: path.into() })?;
    assemble(path, index, leaf)
}

/// The conversation up to and including the entry `uuid`.
pub fn load_until(path: &Path, uuid: &str) -> Result<Loaded, SessionError> {
    let index = read(path)?;
    let Some(leaf) = index.by_uuid.get(uuid).copied() else {
        return Err(SessionError::NoSuchEntry { path: path.into(), uuid: uuid.into() });
    };
    let dropped_turns = dropped_turns(&index, leaf);
    Ok(Loaded { dropped_turns, ..assemble(path, index, leaf)? })
}

fn read(path: &Path) -> Result<Index, SessionError> {
    Index::read(path).map_err(|source| SessionError::Read { path: path.into(), source })
}

/// The turns that entries after `leaf` belong to. An entry's turn is the last prompt before it.
fn dropped_turns(index: &Index, leaf: usize) -> Vec<String> {
    let mut turns: Vec<String> = Vec::new();
    let mut prompt = "";
    for (position, node) in index.nodes.iter().enumerate().filter(|(_, node)| !node.aside) {
        if node.is_prompt() {
            prompt = &node.uuid;
        }
        let said = matches!(node.kind, Kind::User | Kind::Assistant);
        if position > leaf && said && turns.last().is_none_or(|last| last != prompt) {
            turns.push(prompt.to_owned());
        }
    }
    turns
}

fn assemble(path: &Path, index: Index, leaf: usize) -> Result<Loaded, SessionError> {
    let unreadable = |source| SessionError::Read { path: path.into(), source };
    let order = chain::conversation(&index, leaf);
    let mut lines = Lines::open(path).map_err(unreadable)?;
    let mut stored = Vec::with_capacity(order.len());
    let mut prompt = None;
    for node in order.iter().map(|position| &index.nodes[*position]) {
        let line = lines.again(node.span).map_err(unreadable)?;
        // The index has read this line as JSON; if it has changed since, it is somebody else's by now.
        let Ok(mut entry) = serde_json::from_slice::<Value>(line) else { continue };
        let message = match (node.kind, entry.get_mut("message").map(Value::take)) {
            (Kind::Attachment, None) => attachment::message(&entry["attachment"]),
            (_, message) => message,
        };
        let Some(message) = message else { continue };
        if node.is_prompt() {
            prompt = text(&message).or(prompt);
        }
        stored.push(message);
    }
    let last = lines.again(index.nodes[leaf].span).map_err(unreadable)?;
    let deferred = serde_json::from_slice::<Value>(last).ok().filter(|entry| entry["subtype"] == TOOL_DEFERRED);
    let mut state = |span: Option<Span>| match span {
        Some(span) => lines.again(span).map_err(unreadable).map(|line| serde_json::from_slice(line).ok()),
        None => Ok(None),
    };
    let (cost_state, jobs) = (state(index.cost_state)?, state(index.jobs)?);
    let mut messages = history::messages(stored);
    if deferred.is_some() {
        // The stand-in for the result that is still to come.
        messages.pop();
    }
    let mut models = order.iter().rev().filter_map(|position| index.nodes[*position].model.as_ref());
    let model = models.find(|model| !model.starts_with('<')).cloned();
    Ok(Loaded {
        messages,
        model,
        leaf: Some(index.nodes[leaf].uuid.clone()),
        last_prompt: index.last_prompt.or(prompt),
        title: index.custom_title.or(index.ai_title),
        lines: index.lines,
        skipped_lines: index.skipped_lines,
        deferred,
        cost_state,
        jobs,
        dropped_turns: Vec::new(),
    })
}

fn text(message: &Value) -> Option<String> {
    match message.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => blocks.iter().find_map(|block| block.get("text")?.as_str().map(str::to_owned)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
