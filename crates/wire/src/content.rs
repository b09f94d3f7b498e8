//! A message of the conversation as the API has it, and its blocks read as values that borrow from it.
//!
//! Messages are kept as they came, because the transcript and the next request store the same form; reading a block
//! copies nothing.

use crate::Usage;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Message(pub Value);

impl Message {
    pub fn id(&self) -> Option<&str> {
        self.0["id"].as_str()
    }

    pub fn model(&self) -> Option<&str> {
        self.0["model"].as_str()
    }

    pub fn role(&self) -> Option<&str> {
        self.0["role"].as_str()
    }

    /// `None` where it is absent or no object with counts.
    pub fn usage(&self) -> Option<Usage> {
        usage(&self.0["usage"])
    }

    /// The blocks of a list; a plain string is one text.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let (text, list) = match &self.0["content"] {
            Value::String(text) => (Some(Block::Text(text)), None),
            Value::Array(list) => (None, Some(list)),
            _ => (None, None),
        };
        text.into_iter().chain(list.into_iter().flatten().map(Block::of))
    }
}

impl From<Value> for Message {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl crate::message::Field for Message {
    fn read(value: Value) -> Result<Self, Value> {
        Ok(Self(value))
    }
}

/// A content block. Fields that are absent or of another type read as empty.
#[derive(Debug, Clone, PartialEq)]
pub enum Block<'a> {
    Text(&'a str),
    Thinking(&'a str),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    /// Images, documents, server tools, and what later versions add.
    Other(&'a Value),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse<'a> {
    pub id: &'a str,
    pub name: Option<&'a str>,
    pub input: &'a Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult<'a> {
    pub tool_use_id: &'a str,
    pub is_error: bool,
    /// A string or a list of blocks.
    pub content: &'a Value,
}

impl<'a> Block<'a> {
    pub fn of(block: &'a Value) -> Self {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match block["type"].as_str() {
            Some("text") => Self::Text(text("text")),
            Some("thinking") => Self::Thinking(text("thinking")),
            Some("tool_use") => Self::ToolUse(ToolUse::of(block)),
            Some("tool_result") => Self::ToolResult(ToolResult::of(block)),
            _ => Self::Other(block),
        }
    }
}

impl<'a> ToolUse<'a> {
    pub fn of(block: &'a Value) -> Self {
        Self { id: block["id"].as_str().unwrap_or_default(), name: block["name"].as_str(), input: &block["input"] }
    }
}

impl<'a> ToolResult<'a> {
    pub fn of(block: &'a Value) -> Self {
        Self {
            tool_use_id: block["tool_use_id"].as_str().unwrap_or_default(),
            is_error: block["is_error"].as_bool().unwrap_or(false),
            content: &block["content"],
        }
    }

    /// The text of it; blocks of another kind appear as `[image]`.
    pub fn text(&self) -> String {
        match self.content {
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
}

pub(crate) fn usage(value: &Value) -> Option<Usage> {
    // A list would be read as counts, field by field.
    value.as_object()?;
    Usage::deserialize(value).ok()
}
