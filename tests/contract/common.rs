//! What the black-box suites share.
#![expect(dead_code, reason = "every suite uses its own part of this")]

pub mod loopback;

use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

/// The binary under test.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// A world whose model answers with these turns, given as JSON.
pub fn world(turns: Value) -> World {
    World::empty(mock::Script::from_value(turns).expect("a script")).expect("a world")
}

/// The binary as `claude`, in this world.
pub fn claude(world: &World) -> Run {
    world.run(&binary())
}

/// Runs to the end; a run that hangs is a failure of its own.
pub fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stderr: {}", outcome.stderr);
    outcome
}

/// A turn of the model: it says this and is done.
pub fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A turn of the model: it calls this tool.
pub fn call(tool: &str, input: &Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": tool, "input": input}]})
}

/// A turn of the model: it runs this command.
pub fn bash(command: &str) -> Value {
    call("Bash", &json!({"command": command}))
}

/// Every result line, in order.
pub fn results(outcome: &Outcome) -> Vec<Value> {
    outcome.events().into_iter().filter(|event| event["type"] == "result").collect()
}

/// The text of every tool result on stdout, in order.
pub fn tool_results(outcome: &Outcome) -> Vec<String> {
    let users = outcome.events().into_iter().filter(|event| event["type"] == "user");
    let blocks = users.flat_map(|event| event["message"]["content"].as_array().cloned().unwrap_or_default());
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|block| block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned)).collect()
}

/// A shell script that is an MCP server. `branches` are those of a `case` over the line of a request; `answer` sends a result.
pub fn mcp_server(branches: &str) -> String {
    let head = r#"answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in"#;
    format!("{head}\n{branches}  esac\ndone\n")
}
