//! The key of a request, so that a replayed answer goes to the conversation it came from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Enough of a conversation's first words to know it again.
const OPENING_CHARS: usize = 200;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RequestKey {
    pub(crate) model: String,
    /// Names of the tools on offer.
    pub(crate) tools: Vec<String>,
    /// How long the conversation was.
    pub(crate) messages: usize,
    /// The first words of the person.
    pub(crate) opening: String,
}

impl RequestKey {
    pub(crate) fn of(body: &Value) -> Self {
        let list = |name: &str| body.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or("?").to_owned();
        Self {
            model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            tools: list("tools").iter().map(name).collect(),
            messages: list("messages").len(),
            opening: list("messages").first().map(opening).unwrap_or_default(),
        }
    }

    /// How well a recorded request fits this one; `None` where it cannot be its answer.
    pub(crate) fn fit(&self, recorded: &Self) -> Option<u8> {
        if self.tools.is_empty() != recorded.tools.is_empty() {
            return None;
        }
        let same_model = self.model == recorded.model;
        Some(match (same_model, self.opening == recorded.opening) {
            (true, true) => 3,
            (false, true) => 2,
            (true, false) => 1,
            (false, false) => 0,
        })
    }
}

/// The last text of a message: agents put their own context before what was asked.
fn opening(message: &Value) -> String {
    let content = message.get("content");
    let blocks = content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let last = blocks.iter().rev().find_map(|block| block.get("text").and_then(Value::as_str));
    let text = last.or_else(|| content.and_then(Value::as_str)).unwrap_or_default();
    text.trim().chars().take(OPENING_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conversations_are_told_apart_by_model_tools_and_first_words() {
        let ask = |model: &str, tools: Value, text: &str| {
            RequestKey::of(&json!({"model": model, "tools": tools, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "context"}, {"type": "text", "text": text}]},
            ]}))
        };
        let main = ask("m", json!([{"name": "Bash"}]), "Build it");
        assert_eq!((main.messages, &*main.opening), (1, "Build it"));
        assert_eq!(main.fit(&main), Some(3));
        assert_eq!(main.fit(&ask("m", json!([{"name": "Read"}]), "Look")), Some(1));
        assert_eq!(main.fit(&ask("n", json!([{"name": "Read"}]), "Build it")), Some(2));
        assert_eq!(main.fit(&ask("m", json!([]), "Build it")), None);
        assert_eq!(RequestKey::of(&json!({"messages": [{"content": " plain "}]})).opening, "plain");
        assert_eq!(RequestKey::of(&json!("nonsense")), RequestKey::default());
    }
}
