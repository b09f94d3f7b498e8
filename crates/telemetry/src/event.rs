//! The events and counts that the program reports, with the content that the gates allow.

use crate::attribute::{Attributes, takes_attributes};
use crate::config::Gates;

/// In place of content that the user has not released.
pub const REDACTED: &str = "<REDACTED>";
/// A tool input's values are cut here, and the whole at the other.
const INPUT_VALUE_MAX: usize = 512;
const INPUT_MAX: usize = 4096;

/// One event. Names are without the prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: &'static str,
    pub attributes: Attributes,
}

impl Event {
    pub fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new() }
    }

    /// A prompt of the user's.
    pub fn user_prompt(text: &str, uuid: Option<&str>, gates: Gates) -> Self {
        let shown = if gates.prompts() { text } else { REDACTED };
        Self::new("user_prompt")
            .with("prompt_length", text.encode_utf16().count().to_string())
            .with("prompt", shown)
            .with("prompt_text", shown)
            .with_some("message.uuid", uuid)
    }

    /// What was decided about a call. A tool from outside has its name only where details are released.
    pub fn tool_decision(tool: &str, call_id: &str, is_accepted: bool, source: &str, gates: Gates) -> Self {
        let is_outside = tool.starts_with("mcp__");
        Self::new("tool_decision")
            .with("decision", if is_accepted { "accept" } else { "reject" })
            .with("source", source)
            .with("tool_name", if is_outside && !gates.tool_details() { "mcp_tool" } else { tool })
            .with("tool_use_id", call_id)
            .with("tool_source", if is_outside { "mcp" } else { "builtin" })
    }

    /// The input of a call, where details are released.
    #[must_use]
    pub fn with_input(self, input: &serde_json::Value, gates: Gates) -> Self {
        let size = input.to_string().len().to_string();
        let shown = gates.tool_details().then(|| cut_input(input));
        self.with_some("tool_input", shown).with("tool_input_size_bytes", size)
    }

    /// An error's words, where details are released.
    #[must_use]
    pub fn with_error(self, error: &str, gates: Gates) -> Self {
        self.with_some("error", gates.tool_details().then_some(error))
    }
}

/// The input with long values cut, as JSON in a text.
fn cut_input(input: &serde_json::Value) -> String {
    fn cut(value: &serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::String(text) => serde_json::Value::String(shortened(text, INPUT_VALUE_MAX)),
            serde_json::Value::Array(items) => items.iter().map(cut).collect(),
            serde_json::Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), cut(value))).collect(),
            other => other.clone(),
        }
    }
    shortened(&cut(input).to_string(), INPUT_MAX)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The metrics there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    Sessions,
    Cost,
    Tokens,
    LinesOfCode,
    EditDecisions,
    Commits,
    PullRequests,
    ActiveTime,
    /// Of the loop.
    LoopIterations,
    /// Of the loop.
    LoopCost,
}

impl Metric {
    /// Name, unit, description.
    pub(crate) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Sessions => ("claude_code.session.count", "", "Sessions that were started"),
            Self::Cost => ("claude_code.cost.usage", "USD", "Cost of model requests"),
            Self::Tokens => ("claude_code.token.usage", "tokens", "Tokens of model requests, by type"),
            Self::LinesOfCode => ("claude_code.lines_of_code.count", "", "Lines that edits added and removed"),
            Self::EditDecisions => ("claude_code.code_edit_tool.decision", "", "Decisions about edits of files"),
            Self::Commits => ("claude_code.commit.count", "", "Git commits that commands made"),
            Self::PullRequests => ("claude_code.pull_request.count", "", "Pull requests that commands opened"),
            Self::ActiveTime => ("claude_code.active_time.total", "s", "Seconds of work"),
            Self::LoopIterations => ("ralph.iteration.count", "", "Iterations of the loop, by outcome"),
            Self::LoopCost => ("ralph.cost.usage", "USD", "Cost of the loop's iterations"),
        }
    }
}

/// An addition to a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    pub metric: Metric,
    pub value: f64,
    pub attributes: Attributes,
}

impl Count {
    pub fn new(metric: Metric, value: f64) -> Self {
        Self { metric, value, attributes: Vec::new() }
    }
}

takes_attributes!(Event, Count);
