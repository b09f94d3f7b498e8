//! How much of a request is not messages.

use crate::toolset::Toolset;
use serde_json::Value;

/// Characters of a system prompt.
pub fn system_chars(system: &[Value]) -> usize {
    system.iter().map(|block| block["text"].as_str().unwrap_or_default().len()).sum()
}

/// Characters of tool definitions.
pub fn tools_chars(toolset: &Toolset) -> usize {
    // What is searched for occupies nothing until it is found.
    let loaded = toolset.definitions();
    loaded.iter().filter(|tool| !tool.is_deferred()).map(|tool| tool.text().len()).sum()
}

/// Characters that every request has beside the messages.
pub fn overhead(system: &[Value], toolset: &Toolset) -> usize {
    system_chars(system) + tools_chars(toolset)
}
