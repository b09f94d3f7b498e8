//! The messages a model sees, kept in the form the API takes.

use serde_json::{Value, json};
use std::sync::Arc;

/// One conversation. The messages are shared with the request in flight and changed only between
/// requests, so they are never copied.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Arc<Vec<Value>>,
    /// What stands before the first prompt: project memory and the like. Not part of the transcript.
    preamble: Option<String>,
    /// Size of the context when the model last answered.
    pub context_tokens: u64,
}

impl Conversation {
    pub fn new(messages: Vec<Value>, preamble: Option<String>) -> Self {
        let mut conversation = Self { preamble, ..Self::default() };
        for message in messages {
            conversation.push(message);
        }
        conversation
    }

    /// What will stand before the conversation when it starts over.
    pub fn set_preamble(&mut self, preamble: Option<String>) {
        self.preamble = preamble;
    }

    pub fn messages(&self) -> Arc<Vec<Value>> {
        Arc::clone(&self.messages)
    }

    /// A user message: a string or blocks. Joins a user message that is already last, because tool
    /// results, reminders and prompts that meet between two answers belong together.
    pub fn push_user(&mut self, content: Value) {
        self.push(message("user", content));
    }

    /// An assistant message, without what the API would refuse to take back: empty texts, and a message
    /// that was only thought and never said.
    pub fn push_assistant(&mut self, blocks: &[Value]) {
        let content: Vec<Value> = blocks.iter().filter(|block| !is_empty_text(block)).cloned().collect();
        if !content.iter().all(is_thought) {
            self.push(message("assistant", Value::Array(content)));
        }
    }

    /// A prompt alone is all there is to send; no summary could stand in for it.
    pub fn can_be_shortened(&self) -> bool {
        self.messages.len() > 1
    }

    /// Starts over with a summary in place of everything said so far. A prompt that nobody has answered
    /// yet stays as it was typed, and is returned.
    pub fn compact(&mut self, summary: &str) -> Option<Value> {
        let prompt = self.unanswered();
        self.messages = Arc::default();
        self.context_tokens = 0;
        self.push_user(json!(summary));
        if let Some(prompt) = &prompt {
            self.push_user(prompt.clone());
        }
        prompt
    }

    /// What the last message says besides the results of tools.
    fn unanswered(&self) -> Option<Value> {
        let last = self.messages.last().filter(|last| last["role"] == "user" && self.can_be_shortened())?;
        let mut blocks = blocks_of(last["content"].clone());
        blocks.retain(|block| block["type"] != "tool_result");
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }

    fn push(&mut self, mut message: Value) {
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
fn message(role: &str, content: Value) -> Value {
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
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

/// The text of a message: its text blocks, joined.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// What was typed: clients put context in blocks before it.
pub fn last_text(content: &Value) -> &str {
    match content {
        Value::String(text) => text,
        Value::Array(blocks) => blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default(),
        _ => "",
    }
}

/// What stands beside it.
pub fn without_last_text(content: Value) -> Vec<Value> {
    let mut blocks = blocks_of(content);
    if let Some(last) = blocks.iter().rposition(|block| block["text"].is_string()) {
        blocks.remove(last);
    }
    blocks
}

fn is_empty_text(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preamble_stands_before_the_first_prompt_only() {
        let mut conversation = Conversation::new(Vec::new(), Some("memory".into()));
        conversation.push_user(json!("one"));
        conversation.push_assistant(&[json!({"type":"text","text":"A"}), json!({"type":"text","text":" "})]);
        conversation.push_user(json!([{"type":"text","text":"two"}]));
        assert_eq!(
            Value::Array(conversation.messages().to_vec()),
            json!([
                {"role":"user","content":[{"type":"text","text":"memory"},{"type":"text","text":"one"}]},
                {"role":"assistant","content":[{"type":"text","text":"A"}]},
                {"role":"user","content":[{"type":"text","text":"two"}]},
            ])
        );
    }

    #[test]
    fn messages_of_one_role_meet() {
        let mut conversation = Conversation::default();
        conversation.push_user(json!("a"));
        conversation.push_user(json!("b"));
        conversation.push_assistant(&[json!({"type":"text","text":""})]);
        conversation.push_assistant(&[json!({"type":"thinking","thinking":"hm"}), json!({"type":"text","text":" "})]);
        assert_eq!(conversation.messages().len(), 1);
        assert_eq!(text_of(&conversation.messages()[0]["content"]), "a\nb");
    }

    #[test]
    fn what_was_typed_is_the_last_text() {
        let blocks = json!([{"type":"text","text":"context"},{"type":"text","text":"/fix"},{"type":"image"}]);
        assert_eq!(last_text(&blocks), "/fix");
        assert_eq!(without_last_text(blocks), [json!({"type":"text","text":"context"}), json!({"type":"image"})]);
        assert_eq!((last_text(&json!("/fix")), without_last_text(json!("/fix")).len()), ("/fix", 0));
        assert_eq!((last_text(&json!([{"type":"image"}])), without_last_text(json!([])).len()), ("", 0));
    }

    #[test]
    fn a_compacted_conversation_keeps_its_preamble() {
        let mut conversation = Conversation::new(vec![json!({"role":"user","content":"x"})], Some("memory".into()));
        assert_eq!(conversation.compact("summary"), None);
        assert_eq!(text_of(&conversation.messages()[0]["content"]), "memory\nsummary");
    }

    #[test]
    fn a_compacted_conversation_keeps_the_prompt_that_waits_for_its_answer() {
        let mut conversation = Conversation::new(vec![json!({"role":"user","content":"x"})], Some("memory".into()));
        conversation.push_assistant(&[json!({"type":"tool_use","id":"1"})]);
        conversation.push_user(json!([{"type":"tool_result","tool_use_id":"1"}]));
        let mut between_results = conversation.clone();
        assert_eq!(between_results.compact("summary"), None);
        conversation.push_user(json!("what now?"));
        assert!(conversation.compact("summary").is_some());
        assert_eq!(conversation.messages().len(), 1);
        assert_eq!(text_of(&conversation.messages()[0]["content"]), "memory\nsummary\nwhat now?");
    }
}
