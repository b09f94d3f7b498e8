//! The outcome of a tool call.

use serde_json::{Value, json};

/// What the model reads: text where possible (strict clients drop arrays), blocks for images.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

/// `is_error` on the wire. Some tools of the reference send `false`, others leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFlag {
    Absent,
    No,
    Yes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    pub content: Content,
    /// The twin in `tool_use_result`; for an error, its text.
    pub structured: Value,
    pub flag: ErrorFlag,
    /// Boxed, because few calls have any.
    pub effects: Option<Box<TurnEffects>>,
}

/// What a result does to the turn besides being reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnEffects {
    /// Text to put into the conversation after the results, such as a skill's body.
    pub follow_up: Option<String>,
    /// An answer in the client's own schema, which ends the turn.
    pub structured_output: Option<Value>,
    /// The tool says that its success ends the turn.
    pub ends_turn: bool,
}

impl ToolOutcome {
    pub fn new(content: Content, structured: Value, flag: ErrorFlag) -> Self {
        Self { content, structured, flag, effects: None }
    }

    #[must_use]
    pub fn with(self, effects: TurnEffects) -> Self {
        Self { effects: Some(Box::new(effects)), ..self }
    }

    pub fn text(text: impl Into<String>, structured: Value) -> Self {
        Self::new(Content::Text(text.into()), structured, ErrorFlag::Absent)
    }

    pub fn blocks(blocks: Vec<Value>, structured: Value) -> Self {
        Self::new(Content::Blocks(blocks), structured, ErrorFlag::Absent)
    }

    /// An error the model can act on; the turn goes on.
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        let structured = json!(format!("Error: {text}"));
        Self::new(Content::Text(text), structured, ErrorFlag::Yes)
    }

    /// An error in how the tool was called, marked so that the model tells it from a failed run.
    pub fn misuse(text: impl AsRef<str>) -> Self {
        Self::error(format!("<tool_use_error>{}</tool_use_error>", text.as_ref()))
    }

    pub fn is_error(&self) -> bool {
        self.flag == ErrorFlag::Yes
    }
}
