//! MCP servers and people: prompts called like commands, and questions that go to the client.

use super::{add, init, project, requests, said, streaming};
use crate::common::{call, claude, finish, say, tool_results};
use serde_json::{Value, json};
use testkit::World;

/// A server with a prompt and with a tool that asks the user before it answers.
const SERVER: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"desk","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"book","description":"books a desk","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"prompts/list"'*) answer '{"prompts":[{"name":"plan","description":"plans a day","arguments":[{"name":"day","required":true}]}]}' ;;
    *'"prompts/get"'*) answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Plan the day: $(printf %s "$line" | sed -n 's/.*"day":"\([^"]*\)".*/\1/p')\"}}]}" ;;
    *'"tools/call"'*)
      call=$id
      echo '{"jsonrpc":"2.0","id":99,"method":"elicitation/create","params":{"mode":"form","message":"Which desk?","requestedSchema":{"type":"object","properties":{"desk":{"type":"string"}}}}}' ;;
    *'"id":99'*)
      id=$call
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"heard: $(printf %s "$line" | tr -d '"{}')\"}]}" ;;
  esac
done
"#;

fn with_desk(turns: Value) -> World {
    let world = project(turns);
    add(&world, "servers/desk.sh", SERVER);
    let servers = json!({"mcpServers": {"desk": {"command": "sh", "args": ["servers/desk.sh"]}}});
    add(&world, ".mcp.json", &servers.to_string());
    world
}

#[test]
fn a_prompt_of_a_server_is_called_like_a_command() {
    let world = with_desk(json!([say("planned")]));
    let outcome = finish(streaming(&world, "/mcp__desk__plan next monday"));
    assert_eq!(outcome.result().unwrap()["result"], "planned", "{}", outcome.stderr);
    assert!(said(&requests(&world)[0]).contains("Plan the day: next monday"));
    assert!(init(&outcome)["slash_commands"].as_array().unwrap().contains(&json!("mcp__desk__plan")));
}

#[test]
fn a_prompt_without_what_it_needs_asks_no_model() {
    let world = with_desk(json!([say("never")]));
    let outcome = finish(streaming(&world, "/mcp__desk__plan"));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.result().unwrap().to_string().contains("/mcp__desk__plan needs <day>"));
    assert!(requests(&world).is_empty());
}

#[test]
fn a_question_of_a_server_goes_to_the_client() {
    for (answer, expected) in [
        (
            json!({"subtype": "success", "request_id": "$REQ", "response": {"action": "accept", "content": {"desk": "7"}}}),
            "action:accept,content:desk:7",
        ),
        (json!({"subtype": "error", "request_id": "$REQ", "error": "no such request"}), "action:decline"),
    ] {
        let world = with_desk(json!([call("mcp__desk__book", &json!({})), say("booked")]));
        let run = claude(&world)
            .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(["--allowedTools", "mcp__desk"])
            .prompt("hi")
            .wait(json!({"type": "control_request", "request": {"subtype": "elicitation", "mcp_server_name": "desk",
                "message": "Which desk?", "mode": "form"}}))
            .send(json!({"type": "control_response", "response": answer}))
            .wait(json!({"type": "result"}));
        let outcome = finish(run.close());
        assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
        assert!(tool_results(&outcome)[0].contains(expected), "{:?}", tool_results(&outcome));
    }
}

#[test]
fn without_a_client_the_question_is_declined() {
    let world = with_desk(json!([call("mcp__desk__book", &json!({})), say("booked")]));
    let outcome = finish(streaming(&world, "hi").args(["--allowedTools", "mcp__desk"]));
    assert!(tool_results(&outcome)[0].contains("action:decline"), "{:?}", tool_results(&outcome));
}
