//! Entries as the messages an API accepts. Pure.
//!
//! Whatever a file holds, what leaves here obeys the API's rules: it begins with a user message, roles
//! alternate, and each tool call is answered at once, by a stand-in where the real result was lost.

use serde_json::{Value, json};

/// What the model reads in place of a result that never arrived.
const NO_RESULT: &str = "No result: the session ended before this call finished. It may or may not have run.";

/// The model named on messages that we wrote ourselves, such as error reports. They are not the model's.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// A message in the making. Plain content stays a string as long as nothing joins it.
#[derive(Debug)]
struct Message {
    role: Role,
    id: Option<String>,
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

#[derive(Debug)]
enum Content {
    Plain(String),
    Blocks(Vec<Value>),
}

impl Content {
    fn of(role: Role, value: Value) -> Self {
        match value {
            Value::String(text) => Self::Plain(text),
            Value::Array(blocks) => Self::Blocks(blocks.into_iter().filter(|block| is_sendable(role, block)).collect()),
            _ => Self::Blocks(Vec::new()),
        }
    }

    fn into_blocks(self) -> Vec<Value> {
        match self {
            Self::Plain(text) => vec![json!({"type": "text", "text": text})],
            Self::Blocks(blocks) => blocks,
        }
    }

    fn blocks(&self) -> &[Value] {
        if let Self::Blocks(blocks) = self { blocks } else { &[] }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Plain(text) => text.trim().is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }

    fn join(&mut self, other: Self) {
        let mut blocks = std::mem::replace(self, Self::Blocks(Vec::new())).into_blocks();
        blocks.extend(other.into_blocks());
        *self = Self::Blocks(blocks);
    }
}

/// The API refuses empty texts, blocks without a type, and what only the other side may say.
fn is_sendable(role: Role, block: &Value) -> bool {
    match kind(block) {
        Some("text") => block.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()),
        Some("tool_result") => role == Role::User && block.get("tool_use_id").is_some_and(Value::is_string),
        Some("tool_use") => role == Role::Assistant && block.get("id").is_some_and(Value::is_string),
        Some("thinking" | "redacted_thinking") => role == Role::Assistant,
        kind => kind.is_some(),
    }
}

fn kind(block: &Value) -> Option<&str> {
    block.get("type").and_then(Value::as_str)
}

/// Builds the conversation from stored messages in order.
pub(crate) fn messages(stored: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let blocks = stored.into_iter().filter_map(parse).fold(Vec::new(), join_blocks);
    let joined = blocks.into_iter().filter(|message| !is_thought(message)).fold(Vec::new(), join_users);
    answered(joined).into_iter().map(finish).collect()
}

fn parse(mut stored: Value) -> Option<Message> {
    let role = match stored.get("role").and_then(Value::as_str)? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    if role == Role::Assistant && stored.get("model").and_then(Value::as_str) == Some(SYNTHETIC_MODEL) {
        return None;
    }
    let id = stored.get("id").and_then(Value::as_str).map(str::to_owned);
    let content = Content::of(role, stored.get_mut("content").map(Value::take)?);
    (!content.is_empty()).then_some(Message { role, id, content })
}

/// Blocks of one message were stored apart.
fn join_blocks(mut messages: Vec<Message>, next: Message) -> Vec<Message> {
    match messages.last_mut() {
        Some(last) if last.role == Role::Assistant && next.role == Role::Assistant && last.id == next.id => {
            last.content.join(next.content);
        }
        _ => messages.push(next),
    }
    messages
}

/// A message that was only thought and never said was cut short; the API refuses it.
fn is_thought(message: &Message) -> bool {
    let blocks = message.content.blocks();
    let thinks = |block: &Value| matches!(kind(block), Some("thinking" | "redacted_thinking"));
    message.role == Role::Assistant && !blocks.is_empty() && blocks.iter().all(thinks)
}

/// Results of one message were stored apart, and the API wants them together.
fn join_users(mut messages: Vec<Message>, next: Message) -> Vec<Message> {
    match messages.last_mut() {
        Some(last) if last.role == Role::User && next.role == Role::User => last.content.join(next.content),
        _ => messages.push(next),
    }
    messages
}

/// Puts each call's result right behind it and drops results that answer nothing.
fn answered(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len() + 1);
    let mut open: Vec<String> = Vec::new();
    for mut message in messages {
        match message.role {
            // An answer to nothing that is left.
            Role::Assistant if out.is_empty() => {}
            Role::Assistant => {
                answer(&mut out, std::mem::take(&mut open), Vec::new());
                open = unique_calls(&mut message.content);
                push(&mut out, message);
            }
            Role::User if open.is_empty() && !message.content.blocks().iter().any(is_result) => {
                push(&mut out, message);
            }
            Role::User => {
                let blocks = std::mem::replace(&mut message.content, Content::Blocks(Vec::new())).into_blocks();
                let (results, others): (Vec<Value>, Vec<Value>) = blocks.into_iter().partition(is_result);
                answer(&mut out, std::mem::take(&mut open), results);
                message.content = Content::Blocks(others);
                push(&mut out, message);
            }
        }
    }
    answer(&mut out, open, Vec::new());
    out
}

fn is_result(block: &Value) -> bool {
    kind(block) == Some("tool_result")
}

/// The ids of a message's calls. A second call of the same id could not be answered and is dropped.
fn unique_calls(content: &mut Content) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    if let Content::Blocks(blocks) = content {
        blocks.retain(|block| match block.get("id").and_then(Value::as_str) {
            Some(id) if kind(block) == Some("tool_use") => {
                let new = !ids.iter().any(|known| known == id);
                ids.extend(new.then(|| id.to_owned()));
                new
            }
            _ => true,
        });
    }
    ids
}

fn answer(out: &mut Vec<Message>, open: Vec<String>, mut results: Vec<Value>) {
    let mut blocks = Vec::with_capacity(open.len());
    for id in open {
        let is_its = |result: &Value| result.get("tool_use_id").and_then(Value::as_str) == Some(&id);
        blocks.push(match results.iter().position(is_its) {
            Some(position) => results.remove(position),
            None => json!({"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": true}),
        });
    }
    push(out, Message { role: Role::User, id: None, content: Content::Blocks(blocks) });
}

/// Consecutive messages of one role are one message to the API.
fn push(out: &mut Vec<Message>, message: Message) {
    if message.content.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.role == message.role => last.content.join(message.content),
        _ => out.push(message),
    }
}

fn finish(message: Message) -> Value {
    let role = if message.role == Role::User { "user" } else { "assistant" };
    match message.content {
        Content::Plain(text) => json!({"role": role, "content": text}),
        Content::Blocks(blocks) => json!({"role": role, "content": blocks}),
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
