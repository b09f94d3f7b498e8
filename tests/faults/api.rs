//! What a Messages API accepts as a conversation. Pure.

use serde_json::Value;

/// What the API would not take of a conversation. Only a turn that the API itself paused goes on from its own
/// words.
pub fn unacceptable(messages: &Value, pauses: bool) -> Option<String> {
    let messages = messages.as_array()?;
    if messages.first().is_none_or(|first| first["role"] != "user") {
        return Some("it does not begin with a user message".into());
    }
    if messages.last().is_some_and(|last| last["role"] != "user") && !pauses {
        return Some("it ends with an assistant message".into());
    }
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let place = |why: &str| Some(format!("message {at}: {why}: {message}"));
        if at > 0 && messages[at - 1]["role"] == message["role"] {
            return place("two of one role in a row");
        }
        let blocks = match &message["content"] {
            Value::String(text) if !text.trim().is_empty() => Vec::new(),
            Value::Array(blocks) if !blocks.is_empty() => blocks.clone(),
            _ => return place("no content"),
        };
        if blocks
            .iter()
            .any(|block| block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty()))
        {
            return place("an empty text");
        }
        let ids = |kind: &str, key: &str| -> Vec<String> {
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            of_kind.map(|block| block[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        let mut answered = ids("tool_result", "tool_use_id");
        let mut expected = std::mem::replace(&mut open, ids("tool_use", "id"));
        answered.sort();
        expected.sort();
        if answered != expected {
            return place(&format!("calls {expected:?} are answered by {answered:?}"));
        }
        let mut unique = open.clone();
        unique.sort();
        unique.dedup();
        if unique.len() != open.len() {
            return place("two calls with one id");
        }
        let thinks = |block: &Value| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
        if message["role"] == "assistant" && blocks.iter().all(thinks) && !blocks.is_empty() {
            return place("only thoughts");
        }
    }
    None
}
