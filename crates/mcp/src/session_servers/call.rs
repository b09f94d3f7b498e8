//! Calls of servers' tools, answered in the server's own blocks.

use super::SessionServers;
use crate::error::ServerError;
use crate::server_tool::outcome;
use crate::servers::Servers;
use serde_json::{Value, json};
use tools::ToolOutcome;

/// What came of a call.
pub struct SessionCall {
    pub outcome: ToolOutcome,
    /// The server says that a call of this tool that succeeds ends the turn.
    pub ends_turn: bool,
}

pub fn is_servers_tool(name: &str) -> bool {
    name.starts_with("mcp__")
}

impl SessionServers {
    /// Whether a tool's server says that nothing but a person may permit it.
    pub fn wants_a_person(&self, name: &str) -> bool {
        let Some(servers) = self.started.get().filter(|_| is_servers_tool(name)) else { return false };
        servers.tools().iter().any(|tool| tool.full_name == name && tool.requires_user)
    }

    pub async fn call(&self, name: &str, input: Value) -> Result<SessionCall, ServerError> {
        let servers = self.started.get().ok_or(ServerError::NoneConfigured)?;
        let ends_turn = servers.tools().iter().any(|tool| tool.full_name == name && tool.end_turn);
        Ok(SessionCall { outcome: outcome(servers.call(name, input).await?), ends_turn })
    }

    /// One call beside the conversation, whose answer is text: a permission prompt.
    pub async fn call_for_text(&self, tool: &str, arguments: Value) -> Result<String, ServerError> {
        let servers = self.started.get().ok_or(ServerError::NoneConfigured)?;
        Ok(servers.call(tool, arguments).await?.text())
    }

    /// Why the tool that should answer permission questions cannot.
    pub async fn missing_prompter(&self, tool: &str) -> Option<String> {
        if let Some(servers) = self.started.get() {
            servers.ready_for(tool).await;
        }
        let tools = self.started.get().map(Servers::tools).unwrap_or_default();
        let names: Vec<String> = tools.into_iter().map(|tool| tool.full_name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let words =
            || format!("MCP tool {tool} (passed via --permission-prompt-tool) not found. Available MCP tools: {known}");
        (!names.iter().any(|name| name == tool)).then(words)
    }

    /// One call beside the conversation, by the server's own names: a hook's.
    pub async fn call_named(&self, server: &str, tool: &str, arguments: Value) -> Result<String, ServerError> {
        let servers = self.started.get().ok_or(ServerError::NoneConfigured)?;
        servers.ready_of(&[server.to_owned()]).await;
        let found = servers.tools().into_iter().find(|known| known.server == server && known.name == tool);
        let found = found.ok_or_else(|| ServerError::NoToolOf { server: server.to_owned(), tool: tool.to_owned() })?;
        let called = servers.call(&found.full_name, arguments).await?;
        let text = called.text();
        if called.is_error { Err(ServerError::Refused(text)) } else { Ok(text) }
    }

    /// What clients show for such a call: the names people know the tool and its server by.
    pub fn meta(&self, block: &Value) -> Option<Value> {
        let name = block["name"].as_str().filter(|name| is_servers_tool(name))?;
        let tools = self.started.get()?.tools();
        let tool = tools.iter().find(|tool| tool.full_name == name)?;
        let title = tool.title.clone().unwrap_or_else(|| capitalised(&wire::visible(&tool.name)));
        Some(json!([{"id": block["id"], "display_name": title, "server_display_name": tool.server}]))
    }
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
