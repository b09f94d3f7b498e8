//! Resources of MCP servers: listing and reading them.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::shared::Shared;
use serde_json::{Value, json};
use tools::{Outcome, ToolSpec};

pub const SPECS: &[ToolSpec] = &[
    ToolSpec {
        name: "ListMcpResourcesTool",
        description: "List the resources that MCP servers offer, of one server or of all.",
        schema: r#"{"type":"object","properties":{"server":{"type":"string","description":"Only this server's"}},"additionalProperties":false}"#,
        read_only: true,
    },
    ToolSpec {
        name: "ReadMcpResourceTool",
        description: "Read one resource of an MCP server.",
        schema: r#"{"type":"object","properties":{"server":{"type":"string","description":"The server's name"},"uri":{"type":"string","description":"The resource's address"}},"required":["server","uri"],"additionalProperties":false}"#,
        read_only: true,
    },
];

/// The contents of one resource.
pub async fn read(shared: &Shared, server: &str, uri: &str) -> Result<Vec<Value>, String> {
    let servers = shared.outside.servers.get().ok_or("No MCP server is configured.")?;
    servers.read_resource(server, uri).await
}

/// Reads only what a configured server offers, so no permission is asked.
pub async fn run(shared: &Shared, call: &ToolCall) -> Done {
    let Some(servers) = shared.outside.servers.get() else {
        return Outcome::misuse("No MCP server is configured.").into();
    };
    let server = call.input["server"].as_str();
    if call.name == "ListMcpResourcesTool" {
        return match servers.resources(server).await {
            Ok(list) if list.is_empty() => Outcome::text("There are no resources.", json!([])).into(),
            Ok(list) => Outcome::text(Value::Array(list.clone()).to_string(), Value::Array(list)).into(),
            Err(problem) => Outcome::error(problem).into(),
        };
    }
    let (Some(server), Some(uri)) = (server, call.input["uri"].as_str()) else {
        return Outcome::misuse("ReadMcpResourceTool needs \"server\" and \"uri\", both strings.").into();
    };
    match read(shared, server, uri).await {
        Ok(contents) => Outcome::text(Value::Array(contents.clone()).to_string(), json!({"contents": contents})).into(),
        Err(problem) => Outcome::error(problem).into(),
    }
}
