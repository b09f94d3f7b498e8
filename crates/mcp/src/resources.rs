//! ListMcpResourcesTool and ReadMcpResourceTool: what servers offer to read.

use crate::servers::Servers;
use policy::names;
use serde_json::{Value, json};
use tools::{Invocation, Tool, ToolContext, ToolFuture, ToolOutcome, ToolSpec};

pub static LIST_RESOURCES: ToolSpec = ToolSpec::beside_others(
    &names::LIST_MCP_RESOURCES,
    "List the resources that MCP servers offer, of one server or of all.",
    r#"{"type":"object","properties":{"server":{"type":"string","description":"Only this server's"}},"additionalProperties":false}"#,
);

pub static READ_RESOURCE: ToolSpec = ToolSpec::beside_others(
    &names::READ_MCP_RESOURCE,
    "Read one resource of an MCP server.",
    r#"{"type":"object","properties":{"server":{"type":"string","description":"The server's name"},"uri":{"type":"string","description":"The resource's address"}},"required":["server","uri"],"additionalProperties":false}"#,
);

/// Lists the resources of one server or of all.
pub struct ListResources(pub Servers);

/// Reads one resource.
pub struct ReadResource(pub Servers);

impl Tool for ListResources {
    fn spec(&self) -> &ToolSpec {
        &LIST_RESOURCES
    }

    fn run<'a>(&'a self, call: Invocation<'a>, _context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            match self.0.resources(call.input["server"].as_str()).await {
                Ok(list) if list.is_empty() => ToolOutcome::text("There are no resources.", json!([])),
                Ok(list) => ToolOutcome::text(Value::Array(list.clone()).to_string(), Value::Array(list)),
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}

impl Tool for ReadResource {
    fn spec(&self) -> &ToolSpec {
        &READ_RESOURCE
    }

    fn run<'a>(&'a self, call: Invocation<'a>, _context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let field = |name: &str| call.input[name].as_str().unwrap_or_default();
            match self.0.read_resource(field("server"), field("uri")).await {
                Ok(contents) => {
                    ToolOutcome::text(Value::Array(contents.clone()).to_string(), json!({"contents": contents}))
                }
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_of_the_schemas_is_checked() {
        for spec in [&LIST_RESOURCES, &READ_RESOURCE] {
            assert_eq!(spec.unknown_keywords(), Vec::<String>::new(), "{}", spec.name);
            assert_eq!(serde_json::to_string(&spec.schema).unwrap(), spec.schema.to_value().to_string());
        }
    }
}
