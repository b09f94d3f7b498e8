//! Calls of servers' tools, answered in the server's own blocks.

use super::Servers;
use serde_json::{Value, json};
use turn::{CallResult, ToolFinish};

pub fn is_servers_tool(name: &str) -> bool {
    name.starts_with("mcp__")
}

impl Servers {
    /// Whether a tool's server says that nothing but a person may permit it.
    pub fn wants_a_person(&self, name: &str) -> bool {
        let Some(servers) = self.started.get().filter(|_| is_servers_tool(name)) else { return false };
        servers.tools().iter().any(|tool| tool.full_name == name && tool.requires_user)
    }

    pub async fn call(&self, name: &str, input: Value) -> ToolFinish {
        let Some(servers) = self.started.get() else {
            return CallResult::misuse(format!("No such tool available: {name}")).into();
        };
        let ends_turn = servers.tools().iter().any(|tool| tool.full_name == name && tool.end_turn);
        let result = match servers.call(name, input).await {
            Ok(called) => conversation::values::call_result(mcp::outcome(called)),
            Err(problem) => CallResult::error(problem),
        };
        ToolFinish { ends_turn: ends_turn && !result.is_error(), ..ToolFinish::from(result) }
    }

    /// One call beside the conversation, whose answer is text: a permission prompt.
    pub async fn call_for_text(&self, tool: &str, arguments: Value) -> Result<String, String> {
        let servers = self.started.get().ok_or("no MCP server is configured")?;
        Ok(servers.call(tool, arguments).await?.text())
    }

    /// Why the tool that should answer permission questions cannot.
    pub fn missing_prompter(&self, tool: &str) -> Option<String> {
        let tools = self.started.get().map(mcp::Servers::tools).unwrap_or_default();
        let names: Vec<String> = tools.into_iter().map(|tool| tool.full_name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let words =
            || format!("MCP tool {tool} (passed via --permission-prompt-tool) not found. Available MCP tools: {known}");
        (!names.iter().any(|name| name == tool)).then(words)
    }

    /// One call beside the conversation, by the server's own names: a hook's.
    pub async fn call_named(&self, server: &str, tool: &str, arguments: Value) -> Result<String, String> {
        let servers = self.started.get().ok_or("no MCP server is configured")?;
        let found = servers.tools().into_iter().find(|known| known.server == server && known.name == tool);
        let found = found.ok_or_else(|| format!("no connected MCP server {server:?} has a tool {tool:?}"))?;
        let called = servers.call(&found.full_name, arguments).await?;
        let text = called.text();
        if called.is_error { Err(text) } else { Ok(text) }
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
