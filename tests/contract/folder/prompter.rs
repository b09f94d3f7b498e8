//! A tool of an MCP server answers permission questions.

use super::{add, project, streaming};
use crate::common::{bash, finish, say, tool_results};
use serde_json::json;
use testkit::{Outcome, World};

/// Permits what names `yes`, changed; refuses what names `no`; of everything else it talks.
const SERVER: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
say() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"gate","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"may","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*yes*) printf '%s\n' "$line" >> asked; say '{\"behavior\":\"allow\",\"updatedInput\":{\"command\":\"touch changed\"}}' ;;
    *'"tools/call"'*no*) say '{\"behavior\":\"deny\",\"message\":\"not today\"}' ;;
    *'"tools/call"'*) say 'well, perhaps' ;;
  esac
done
"#;

fn with_gate(command: &str, tool: &str) -> (World, Outcome) {
    let world = project(json!([bash(command), say("done")]));
    add(&world, "gate.sh", SERVER);
    let servers = json!({"mcpServers": {"gate": {"command": "sh", "args": ["gate.sh"]}}}).to_string();
    let flags = ["--strict-mcp-config", "--mcp-config", &servers, "--permission-prompt-tool", tool];
    let outcome = finish(streaming(&world, "go").args(flags));
    (world, outcome)
}

#[test]
fn it_permits_changes_and_refuses() {
    let (world, outcome) = with_gate("touch yes", "mcp__gate__may");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(world.read("changed").is_some() && world.read("yes").is_none(), "{:?}", outcome.lines);
    let asked: serde_json::Value = serde_json::from_str(&world.read("asked").unwrap()).unwrap();
    let arguments = &asked["params"]["arguments"];
    assert_eq!((&arguments["tool_name"], &arguments["input"]["command"]), (&json!("Bash"), &json!("touch yes")));
    assert!(arguments["tool_use_id"].is_string(), "{asked}");
    for (command, words) in [("touch no", "not today"), ("touch maybe", "did not answer with JSON")] {
        let (world, outcome) = with_gate(command, "mcp__gate__may");
        assert!(tool_results(&outcome)[0].contains(words), "{:?}", outcome.lines);
        assert_eq!((outcome.code, world.read("no"), world.read("maybe")), (Some(0), None, None));
        assert_eq!(outcome.result().unwrap()["permission_denials"][0]["tool_name"], "Bash");
    }
}

/// Going on without the one who was to decide would look like a decision.
#[test]
fn a_missing_one_ends_the_run_at_the_first_question() {
    let (world, outcome) = with_gate("touch yes", "mcp__gate__might");
    let words = "MCP tool mcp__gate__might (passed via --permission-prompt-tool) not found. Available MCP tools: mcp__gate__may";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["subtype"]), (Some(1), &json!("error_during_execution")), "{result}");
    assert_eq!(result["errors"], json!([words]));
    assert_eq!(tool_results(&outcome).len(), 1, "every call has its result");
    assert_eq!((world.mock().requests().len(), world.read("yes")), (1, None));
    let (_, outcome) = with_gate("echo no question", "mcp__gate__might");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
}
