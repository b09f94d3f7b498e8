//! Resources of MCP servers: listing and reading them.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use mcp::{LIST_RESOURCES, ListResources, READ_RESOURCE, ReadResource};
use policy::Targets;
use serde_json::Value;
use tools::{Invocation, Outcome, Tool, ToolSpec};

pub fn specs() -> impl Iterator<Item = &'static ToolSpec> {
    [&LIST_RESOURCES, &READ_RESOURCE].into_iter()
}

/// The tool of this name, where there are servers.
pub fn tool(shared: &Shared, name: &str) -> Option<Box<dyn Tool>> {
    let servers = shared.outside.servers.get()?.clone();
    match name {
        _ if name == LIST_RESOURCES.name => Some(Box::new(ListResources(servers))),
        _ if name == READ_RESOURCE.name => Some(Box::new(ReadResource(servers))),
        _ => None,
    }
}

/// The contents of one resource.
pub async fn read(shared: &Shared, server: &str, uri: &str) -> Result<Vec<Value>, String> {
    let servers = shared.outside.servers.get().ok_or("No MCP server is configured.")?;
    Ok(servers.read_resource(server, uri).await?)
}

/// A call like any other: hooks, rules, and then the server.
pub async fn run(shared: &Shared, lane: &Lane, call: &ToolCall, tool: &dyn Tool) -> Done {
    let input = match tool.validate(&call.name, &call.input) {
        Ok(input) => input,
        Err(problem) => return Outcome::from(problem).into(),
    };
    let permitted = match permit(shared, lane, &call.id, &tool.spec().name, input, Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    let targets = Targets::default();
    let call = Invocation { tool_use_id: &call.id, input: &permitted.input, targets: &targets, run: None };
    let outcome = tools::run(tool, call, &lane.tools).await;
    Done::from(outcome).of(permitted)
}
