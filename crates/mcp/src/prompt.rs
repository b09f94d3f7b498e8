//! A prompt that a server offers, which people call like a command. Pure.
//!
//! Read from plain JSON, field by field, as tools are.

use crate::text::shown;
use crate::tool::DESCRIPTION_MAX;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The name it is called by: `mcp__server__prompt`.
    pub full_name: String,
    pub server: String,
    /// The server's own name for it.
    pub name: String,
    pub description: String,
    pub arguments: Vec<Argument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    pub required: bool,
}

/// A prompt was called without all the words that it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("/{prompt} needs {hint}")]
pub struct MissingArguments {
    pub prompt: String,
    pub hint: String,
}

impl Prompt {
    /// `None` for one without a name.
    pub(crate) fn read(server: &str, given: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text(given, "name").filter(|name| !name.is_empty())?;
        let described = text(given, "description").or_else(|| text(given, "title")).unwrap_or_default();
        let arguments = given.get("arguments").and_then(Value::as_array).into_iter().flatten();
        let arguments = arguments.filter_map(|argument| {
            let required = argument.get("required").and_then(Value::as_bool).unwrap_or(false);
            Some(Argument { name: text(argument, "name")?, required })
        });
        Some(Self {
            full_name: String::new(),
            server: server.to_owned(),
            name,
            description: shown(&described, DESCRIPTION_MAX),
            arguments: arguments.collect(),
        })
    }

    /// What people are shown of its arguments.
    pub fn hint(&self) -> String {
        let shown = |argument: &Argument| {
            if argument.required { format!("<{}>", argument.name) } else { format!("[{}]", argument.name) }
        };
        self.arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// The words after the command, in the order of the arguments; the last takes what is left.
    pub(crate) fn filled(&self, words: &[String]) -> Result<Map<String, Value>, MissingArguments> {
        let mut filled = Map::new();
        for (at, argument) in self.arguments.iter().enumerate() {
            let is_last = at + 1 == self.arguments.len();
            let value = if is_last {
                words.get(at..).unwrap_or_default().join(" ")
            } else {
                words.get(at).cloned().unwrap_or_default()
            };
            if !value.is_empty() {
                filled.insert(argument.name.clone(), json!(value));
            } else if argument.required {
                return Err(MissingArguments { prompt: self.full_name.clone(), hint: self.hint() });
            }
        }
        Ok(filled)
    }
}

/// The contents of a prompt's messages. What it has the assistant say is marked: it is not said by anybody here.
pub(crate) fn contents(result: &Value) -> Value {
    let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
    let contents = messages.flat_map(|message| {
        let mark =
            (message["role"] == "assistant").then(|| json!({"type": "text", "text": "[as if you had answered:]"}));
        let blocks = match &message["content"] {
            Value::Array(blocks) => blocks.clone(),
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            one => vec![one.clone()],
        };
        mark.into_iter().chain(blocks)
    });
    json!({"content": contents.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Prompt {
        let given = json!({"name": "review", "description": "reviews", "arguments": [
            {"name": "file", "required": true}, {"name": "words"}, {"odd": 1}]});
        Prompt { full_name: "mcp__s__review".into(), ..Prompt::read("s", &given).unwrap() }
    }

    #[test]
    fn words_become_arguments_in_their_order() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (given, expected) in [
            ("a.rs", Ok(json!({"file": "a.rs"}))),
            ("a.rs with great care", Ok(json!({"file": "a.rs", "words": "with great care"}))),
            ("", Err("/mcp__s__review needs <file> [words]".to_owned())),
        ] {
            let filled = prompt().filled(&words(given)).map(Value::Object).map_err(|error| error.to_string());
            assert_eq!(filled, expected, "{given}");
        }
        let bare = Prompt::read("s", &json!({"name": "p"})).unwrap();
        assert_eq!((bare.hint().as_str(), bare.filled(&words("too many")).unwrap().len()), ("", 0));
        assert!(Prompt::read("s", &json!({"name": ""})).is_none());
    }

    #[test]
    fn messages_of_all_shapes_become_one_list() {
        let result = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "one"}},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": [{"type": "text", "text": "three"}]},
        ]});
        let text = contents(&result).to_string();
        assert!(["one", "as if you had answered", "two", "three"].iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(contents(&json!({})), json!({"content": []}));
    }
}
