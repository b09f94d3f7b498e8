//! Resources of MCP servers: listing and reading them.

use super::Servers;
use serde_json::{Value, json};
use tools::ToolSpec;
use turn::CallResult;

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

impl Servers {
    /// The contents of one resource.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<Value>, String> {
        let servers = self.started.get().ok_or("No MCP server is configured.")?;
        servers.read_resource(server, uri).await
    }

    /// A call of one of [`SPECS`].
    pub async fn use_resources(&self, name: &str, input: &Value) -> CallResult {
        let Some(servers) = self.started.get() else {
            return CallResult::misuse("No MCP server is configured.");
        };
        let server = input["server"].as_str();
        if name == "ListMcpResourcesTool" {
            return match servers.resources(server).await {
                Ok(list) if list.is_empty() => CallResult::text("There are no resources.", json!([])),
                Ok(list) => CallResult::text(Value::Array(list.clone()).to_string(), Value::Array(list)),
                Err(problem) => CallResult::error(problem),
            };
        }
        let uri = input["uri"].as_str().unwrap_or_default();
        match self.read_resource(server.unwrap_or_default(), uri).await {
            Ok(contents) => CallResult::text(Value::Array(contents.clone()).to_string(), json!({"contents": contents})),
            Err(problem) => CallResult::error(problem),
        }
    }
}
