//! What detailed tracing tells of a request: its tools, its system prompt, and what is new in it. Pure.
//!
//! Read from the body that is sent. Of a body that is not in the form of the Messages API there is nothing to tell.

use crate::names;
use serde_json::Value;

/// How a text begins that the program, and not the user, added to a message.
const REMINDER: &str = "<system-reminder>";
/// In place of what a tool returned, where that is not released.
const HIDDEN_RESULT: &str = "[tool result]";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestDetails {
    pub(crate) tools: Vec<String>,
    pub(crate) system: String,
    /// Messages after the model's last one.
    pub(crate) new_messages: u64,
    /// What these say, without reminders. Results of tools are apart, because another switch releases them.
    pub(crate) new_texts: Vec<NewText>,
    pub(crate) reminders: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NewText {
    Said(String),
    Returned(String),
}

impl RequestDetails {
    pub(crate) fn of_body(body: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(body).ok()?;
        let messages = body["messages"].as_array()?;
        let is_models = |message: &Value| message["role"] == "assistant";
        let new = messages.iter().rposition(is_models).map_or(0, |last| last + 1);
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut details = Self {
            tools: tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect(),
            system: texts(&body["system"]).join("\n"),
            new_messages: (messages.len() - new) as u64,
            ..Self::default()
        };
        for message in &messages[new..] {
            details.read_message(&message["content"]);
        }
        Some(details)
    }

    fn read_message(&mut self, content: &Value) {
        if let Some(text) = content.as_str() {
            return self.read_text(text);
        }
        for block in content.as_array().into_iter().flatten() {
            match block["text"].as_str() {
                Some(text) => self.read_text(text),
                None if block["type"] == "tool_result" => {
                    self.new_texts.push(NewText::Returned(texts(&block["content"]).join("\n")));
                }
                None => {}
            }
        }
    }

    fn read_text(&mut self, text: &str) {
        if text.trim_start().starts_with(REMINDER) {
            self.reminders.push(text.to_owned());
        } else {
            self.new_texts.push(NewText::Said(text.to_owned()));
        }
    }

    pub(crate) fn new_context(&self, shows_results: bool) -> String {
        let shown = |text: &NewText| match text {
            NewText::Said(text) => text.clone(),
            NewText::Returned(text) if shows_results => text.clone(),
            NewText::Returned(_) => HIDDEN_RESULT.to_owned(),
        };
        self.new_texts.iter().map(shown).collect::<Vec<String>>().join("\n")
    }

    /// The names of the tools that may be told.
    pub(crate) fn tool_names(&self, shows_details: bool) -> Vec<String> {
        let shown = |name: &String| names::tool(name, "mcp_tool", shows_details).to_owned();
        self.tools.iter().map(shown).collect()
    }
}

/// A text, or the texts of a list of blocks.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_new_is_what_comes_after_the_models_last_words() {
        let body = json!({
            "system": [{"type": "text", "text": "Be"}, {"type": "text", "text": "good."}],
            "tools": [{"name": "Bash"}, {"name": "mcp__vault__open"}, {"type": "web_search"}],
            "messages": [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": [{"type": "tool_use"}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "result"}]},
                    {"type": "text", "text": "\n<system-reminder>r</system-reminder>"},
                    {"type": "text", "text": "said"}, {"type": "image"}]},
                {"role": "user", "content": "more"},
            ],
        });
        let details = RequestDetails::of_body(&body.to_string()).unwrap();
        assert_eq!((details.system.as_str(), details.new_messages, details.reminders.len()), ("Be\ngood.", 2, 1));
        assert_eq!(details.tool_names(false), ["Bash", "mcp_tool"]);
        assert_eq!(details.tool_names(true), ["Bash", "mcp__vault__open"]);
        assert_eq!(details.new_context(true), "result\nsaid\nmore");
        assert_eq!(details.new_context(false), "[tool result]\nsaid\nmore");
    }

    #[test]
    fn of_another_body_nothing_is_told() {
        for body in ["", "{}", "[]", r#"{"messages": 1}"#] {
            assert_eq!(RequestDetails::of_body(body), None, "{body}");
        }
        let first = r#"{"messages": [{"role": "user", "content": "hi"}], "system": "s"}"#;
        let first = RequestDetails::of_body(first).unwrap();
        assert_eq!((first.new_messages, first.system.as_str(), first.tools.len()), (1, "s", 0));
    }
}
