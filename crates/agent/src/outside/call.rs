//! A call of an outside tool: permitted like any other, answered in the server's own blocks.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use serde_json::{Value, json};
use tools::Outcome;

pub fn is_outside(name: &str) -> bool {
    name.starts_with("mcp__")
}

/// Whether a tool's server says that nothing but a person may permit it.
pub fn wants_a_person(shared: &Shared, name: &str) -> bool {
    let Some(servers) = shared.outside.servers.get().filter(|_| is_outside(name)) else { return false };
    servers.tools().iter().any(|tool| tool.full_name == name && tool.requires_user)
}

pub async fn run(shared: &Shared, lane: &Lane, call: &ToolCall) -> Done {
    if !call.input.is_object() {
        return Outcome::misuse(format!("{} needs an object as its input.", call.name)).into();
    }
    let permitted = match permit(shared, lane, &call.id, &call.name, call.input.clone(), Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    let Some(servers) = shared.outside.servers.get() else {
        return Outcome::misuse(format!("No such tool available: {}", call.name)).into();
    };
    let ends_turn = servers.tools().iter().any(|tool| tool.full_name == call.name && tool.end_turn);
    let outcome = match servers.call(&call.name, permitted.input.clone()).await {
        Ok(called) => mcp::outcome(called),
        Err(error) => Outcome::error(error),
    };
    let ends_turn = ends_turn && !outcome.is_error();
    Done { ends_turn, ..Done::from(outcome) }.of(permitted)
}

/// One call beside the conversation, whose answer is text: a permission prompt.
pub async fn call_for_text(shared: &Shared, tool: &str, arguments: Value) -> Result<String, String> {
    let servers = shared.outside.servers.get().ok_or("no MCP server is configured")?;
    Ok(servers.call(tool, arguments).await?.text())
}

/// Why the tool that should answer permission questions cannot.
pub fn missing_prompter(shared: &Shared, tool: &str) -> Option<String> {
    let servers = shared.outside.servers.get();
    let names: Vec<String> =
        servers.map(|servers| servers.tools().into_iter().map(|tool| tool.full_name).collect()).unwrap_or_default();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let words =
        || format!("MCP tool {tool} (passed via --permission-prompt-tool) not found. Available MCP tools: {known}");
    (!names.iter().any(|name| name == tool)).then(words)
}

/// One call beside the conversation, by the server's own names: a hook's.
pub async fn call_named(shared: &Shared, server: &str, tool: &str, arguments: Value) -> Result<String, String> {
    let servers = shared.outside.servers.get().ok_or("no MCP server is configured")?;
    let found = servers.tools().into_iter().find(|known| known.server == server && known.name == tool);
    let found = found.ok_or_else(|| format!("no connected MCP server {server:?} has a tool {tool:?}"))?;
    let called = servers.call(&found.full_name, arguments).await?;
    let text = called.text();
    if called.is_error { Err(text) } else { Ok(text) }
}

/// What clients show for such a call: the names people know the tool and its server by.
pub fn meta(shared: &Shared, block: &Value) -> Option<Value> {
    let name = block["name"].as_str().filter(|name| is_outside(name))?;
    let tools = shared.outside.servers.get()?.tools();
    let tool = tools.iter().find(|tool| tool.full_name == name)?;
    let title = tool.title.clone().unwrap_or_else(|| capitalised(&wire::visible(&tool.name)));
    Some(json!([{"id": block["id"], "display_name": title, "server_display_name": tool.server}]))
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
