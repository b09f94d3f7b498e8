//! The messages a model sees, kept in the form the API takes: roles alternate, no empty texts, and the results of an
//! answer's calls come first in the message behind it.

use crate::words;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// One conversation. The messages are shared with the request in flight and changed only between
/// requests, so they are never copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversation {
    messages: Arc<Vec<Value>>,
    /// The text before the first prompt: project memory and the like. Not part of the transcript.
    preamble: Option<String>,
    /// Size of the context when the model last answered.
    pub(crate) context_tokens: u64,
}

impl Conversation {
    pub(crate) fn new(messages: Vec<Value>, preamble: Option<String>) -> Self {
        let mut conversation = Self { preamble, ..Self::default() };
        for message in messages {
            conversation.push(message);
        }
        conversation
    }

    /// The text before the first message, for the next time that the conversation starts over.
    pub(crate) fn set_preamble(&mut self, preamble: Option<String>) {
        self.preamble = preamble;
    }

    pub(crate) fn messages(&self) -> Arc<Vec<Value>> {
        Arc::clone(&self.messages)
    }

    /// A user message: a string or blocks. It joins a user message that is already last, because tool
    /// results, reminders and prompts that meet between two answers belong together.
    pub(crate) fn push_user(&mut self, content: Value) {
        self.push(message("user", content));
    }

    /// The results of the last answer's calls. Reminders may have come before them (a session that is resumed with a
    /// call that was put off), and the API wants the results first.
    pub(crate) fn push_results(&mut self, results: Vec<Value>) {
        if results.is_empty() {
            return;
        }
        let messages = Arc::make_mut(&mut self.messages);
        match messages.last_mut() {
            Some(last) if last["role"] == "user" => {
                let others = blocks_of(last["content"].take());
                let (mut blocks, others): (Vec<Value>, Vec<Value>) = others.into_iter().partition(is_result);
                blocks.extend(results);
                blocks.extend(others);
                last["content"] = Value::Array(blocks);
            }
            _ => messages.push(message("user", Value::Array(results))),
        }
    }

    /// An assistant message, without what the API would refuse to take back: empty texts, and a message
    /// that was only thought and never said.
    pub(crate) fn push_assistant(&mut self, mut blocks: Vec<Value>) {
        blocks.retain(|block| !is_empty_text(block));
        if !blocks.iter().all(is_thought) {
            self.push(message("assistant", Value::Array(blocks)));
        }
    }

    /// Nothing is left out: only a deliberate fault does so.
    pub(crate) fn push_as_it_is(&mut self, blocks: Vec<Value>) {
        Arc::make_mut(&mut self.messages).push(message("assistant", Value::Array(blocks)));
    }

    /// A prompt alone is all there is to send; no summary could stand in for it.
    pub(crate) fn can_be_shortened(&self) -> bool {
        self.messages.len() > 1
    }

    /// The last word is not the model's.
    pub(crate) fn waits_for_an_answer(&self) -> bool {
        self.messages.last().is_some_and(|last| last["role"] == "user")
    }

    /// Starts over with a summary in place of everything said so far. A prompt that nobody has answered
    /// yet stays as it was typed, and is returned.
    pub(crate) fn compact(&mut self, summary: &str) -> Option<Value> {
        let prompt = self.unanswered();
        self.messages = Arc::default();
        self.context_tokens = 0;
        self.push_user(json!(summary));
        if let Some(prompt) = &prompt {
            self.push_user(prompt.clone());
        }
        prompt
    }

    /// The last message without the results of tools.
    fn unanswered(&self) -> Option<Value> {
        let last = self.messages.last().filter(|last| last["role"] == "user" && self.can_be_shortened())?;
        let mut blocks = blocks_of(last["content"].clone());
        blocks.retain(|block| !is_result(block));
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }

    fn push(&mut self, mut message: Value) {
        if is_blank(&message["content"]) {
            return;
        }
        if let Value::Array(blocks) = &mut message["content"] {
            blocks.retain(|block| !is_empty_text(block));
        }
        let preamble = if self.messages.is_empty() { self.preamble.clone() } else { None };
        if let Some(preamble) = preamble {
            let mut blocks = vec![json!({"type": "text", "text": preamble})];
            blocks.extend(blocks_of(message["content"].take()));
            message["content"] = Value::Array(blocks);
        }
        let messages = Arc::make_mut(&mut self.messages);
        match messages.last_mut() {
            Some(last) if last["role"] == message["role"] => {
                let mut blocks = blocks_of(last["content"].take());
                blocks.extend(blocks_of(message["content"].take()));
                last["content"] = Value::Array(blocks);
            }
            _ => messages.push(message),
        }
    }
}

/// Built by moving: `json!` would copy the content, which may be megabytes.
pub(crate) fn message(role: &str, content: Value) -> Value {
    let mut message = serde_json::Map::new();
    message.insert("role".into(), role.into());
    message.insert("content".into(), content);
    Value::Object(message)
}

/// Content as blocks, whichever form it came in.
pub fn blocks_of(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks,
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![text_block(text)],
        _ => Vec::new(),
    }
}

/// Built by moving, as [`message`] is.
fn text_block(text: String) -> Value {
    let mut block = serde_json::Map::new();
    block.insert("type".into(), "text".into());
    block.insert("text".into(), Value::String(text));
    Value::Object(block)
}

/// The text of a message: its text blocks, joined.
pub fn text_of(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => text.into(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            match texts[..] {
                [text] => text.into(),
                _ => texts.join("\n").into(),
            }
        }
        _ => Cow::Borrowed(""),
    }
}

/// The text that was typed: clients put context in blocks before it.
pub fn last_text(content: &Value) -> &str {
    match content {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default(),
        _ => "",
    }
}

/// The blocks beside the text that was typed.
pub fn without_last_text(content: Value) -> Vec<Value> {
    let mut blocks = blocks_of(content);
    if let Some(last) = blocks.iter().rposition(|block| block["text"].is_string()) {
        blocks.remove(last);
    }
    blocks
}

/// Nothing that the API would take.
pub(crate) fn is_blank(content: &Value) -> bool {
    match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(blocks) => blocks.iter().all(is_empty_text),
        _ => true,
    }
}

/// A prompt of which nothing can be sent.
pub(crate) fn is_unusable(content: &Value) -> bool {
    match content {
        Value::Array(blocks) => !blocks.iter().any(is_usable),
        other => is_blank(other),
    }
}

fn is_usable(block: &Value) -> bool {
    !is_empty_text(block) && !is_result(block) && block["type"] != "tool_use"
}

/// A prompt as it can be sent. Clients send empty texts, and blocks that only the model or a tool may say; the API refuses
/// both, and would refuse every later request with them.
pub(crate) fn usable(content: Value) -> Value {
    match content {
        Value::Array(mut blocks) => {
            blocks.retain(is_usable);
            Value::Array(blocks)
        }
        text => text,
    }
}

pub(crate) fn is_result(block: &Value) -> bool {
    block["type"] == "tool_result"
}

fn is_empty_text(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// Whether a conversation that is taken up again was last told that plan mode is on.
pub(crate) fn was_told_of_plan_mode(messages: &[Value]) -> bool {
    let user = messages.iter().rev().filter(|message| message["role"] == "user");
    let texts = user.flat_map(|message| message["content"].as_array().into_iter().flatten().rev());
    let mut texts = texts.filter_map(|block| block["text"].as_str());
    texts.find_map(|text| match (text.contains(words::PLAN_MODE), text.contains(words::PLAN_MODE_OFF)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }) == Some(true)
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
