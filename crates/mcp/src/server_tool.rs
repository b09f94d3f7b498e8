//! A tool of an MCP server as a [`Tool`] of the agent's.

use crate::content::Called;
use crate::servers::Servers;
use crate::tool::McpTool;
use policy::names;
use serde_json::Value;
use std::borrow::Cow;
use tools::{InputError, InputSchema, Invocation, Tool, ToolContext, ToolFuture, ToolOutcome, ToolSpec, TurnEffects};

/// One tool, with the server that runs it.
pub struct ServerTool {
    servers: Servers,
    spec: ToolSpec,
    ends_turn: bool,
}

impl ServerTool {
    pub fn new(servers: Servers, tool: McpTool) -> Self {
        let spec = ToolSpec {
            entry: &names::MCP_TOOL,
            name: Cow::Owned(tool.full_name),
            description: Cow::Owned(tool.description),
            schema: InputSchema::Value(tool.schema),
            may_run_beside_others: tool.read_only,
        };
        Self { servers, spec, ends_turn: tool.end_turn }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The server holds its own input against its own schema; we only know what a call must be.
    fn validate(&self, _called_as: &str, input: &Value) -> Result<Value, InputError> {
        if input.is_object() {
            return Ok(input.clone());
        }
        Err(InputError::Tool(format!("{} needs an object as its input.", self.spec.name)))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, _context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let outcome = match self.servers.call(&self.spec.name, call.input.clone()).await {
                Ok(called) => outcome(called),
                Err(error) => ToolOutcome::error(error.to_string()),
            };
            if self.ends_turn && !outcome.is_error() {
                return outcome.with(TurnEffects { ends_turn: true, ..TurnEffects::default() });
            }
            outcome
        })
    }
}

/// The result of a call: the server's own blocks, or its words for what went wrong.
pub fn outcome(called: Called) -> ToolOutcome {
    if called.is_error {
        return ToolOutcome::error(called.text());
    }
    let structured = Value::Array(called.content.clone());
    ToolOutcome::blocks(called.content, structured)
}
