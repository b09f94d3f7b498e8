//! Tools from outside: MCP servers, as this conversation sees them.

use crate::shared::Shared;
use serde_json::{Value, json};

/// The `mcp_…` requests of a client.
pub async fn control(_: &Shared, request: &Value) -> Result<Value, String> {
    Err(format!("Unsupported control request subtype: {}", request["subtype"].as_str().unwrap_or_default()))
}

pub fn status(_: &Shared) -> Value {
    json!({"mcpServers": []})
}

/// Servers that live in the client's process.
pub fn add_sdk_servers(_: &Shared, _: &Value) {}

/// One call whose answer is text.
pub async fn call_for_text(_: &Shared, tool: &str, _: Value) -> Result<String, String> {
    Err(format!("MCP tool {tool} (passed via --permission-prompt-tool) not found. Available MCP tools: none"))
}
