//! References to tools in older messages, held against the tools of this request: the API refuses a reference to a tool
//! that it is not given, such as one of a server that a resumed session does not have any more.

use serde_json::{Value, json};
use std::sync::Arc;

const KIND: &str = "tool_reference";

/// The messages with every reference that `knows` does not know told as text. Nothing is copied where there is none.
pub fn known_references(messages: Arc<Vec<Value>>, knows: impl Fn(&str) -> bool) -> Arc<Vec<Value>> {
    let is_lost = |block: &Value| block["type"] == KIND && !block["tool_name"].as_str().is_some_and(&knows);
    let has_lost = |message: &Value| results(message).any(|block| parts(block).any(is_lost));
    if !messages.iter().any(has_lost) {
        return messages;
    }
    let mut mended = (*messages).clone();
    for block in mended.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        for part in block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            if is_lost(part) {
                let name = part["tool_name"].as_str().unwrap_or_default();
                *part = json!({"type": "text", "text": format!("The tool {name} was found.")});
            }
        }
    }
    Arc::new(mended)
}

fn results(message: &Value) -> impl Iterator<Item = &Value> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "tool_result")
}

fn parts(block: &Value) -> impl Iterator<Item = &Value> {
    block["content"].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk() -> Arc<Vec<Value>> {
        Arc::new(vec![
            json!({"role": "user", "content": "hi"}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": KIND, "tool_name": "here"}, {"type": KIND, "tool_name": "gone"}]}]}),
        ])
    }

    #[test]
    fn only_what_is_lost_becomes_text() {
        let told = known_references(talk(), |name| name == "here");
        let parts = &told[1]["content"][0]["content"];
        assert_eq!(parts[0], json!({"type": KIND, "tool_name": "here"}));
        assert_eq!(parts[1], json!({"type": "text", "text": "The tool gone was found."}));
        assert_eq!(told[0], talk()[0]);
    }

    #[test]
    fn nothing_is_copied_without_need() {
        let messages = talk();
        assert!(Arc::ptr_eq(&known_references(Arc::clone(&messages), |_| true), &messages));
    }
}
