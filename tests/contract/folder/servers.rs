//! MCP servers and people: prompts called like commands, and questions that go to the client.

use super::{add, init, project, requests, said, streaming};
use crate::common::{call, claude, finish, mcp_server, say, tool_results};
use serde_json::{Value, json};
use testkit::World;

/// A server with a prompt and with a tool that asks the user before it answers.
const SERVER: &str = r#"
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"desk","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"book","description":"books a desk","inputSchema":{"type":"object","properties":{}}},{"name":"sign","inputSchema":{"type":"object"},"_meta":{"anthropic/requiresUserInteraction":true}}]}' ;;
    *'"prompts/list"'*) answer '{"prompts":[{"name":"plan","description":"plans a day","arguments":[{"name":"day","required":true}]}]}' ;;
    *'"prompts/get"'*) answer "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Plan the day: $(printf %s "$line" | sed -n 's/.*"day":"\([^"]*\)".*/\1/p')\"}}]}" ;;
    *'"resources/read"'*) answer '{"contents":[{"uri":"desk://7","mimeType":"text/plain","text":"Desk seven is by the window."}]}' ;;
    *'"name":"sign"'*) answer '{"content":[{"type":"text","text":"signed"}]}' ;;
    *'"tools/call"'*)
      call=$id
      echo '{"jsonrpc":"2.0","id":99,"method":"elicitation/create","params":{"mode":"form","message":"Which desk?","requestedSchema":{"type":"object","properties":{"desk":{"type":"string"}}}}}' ;;
    *'"id":99'*)
      id=$call
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"heard: $(printf %s "$line" | tr -d '"{}')\"}]}" ;;
"#;

fn with_desk(turns: Value) -> World {
    let world = project(turns);
    add(&world, "servers/desk.sh", &mcp_server(SERVER));
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

#[test]
fn a_mentioned_resource_comes_with_the_prompt() {
    let world = with_desk(json!([say("seen")]));
    finish(streaming(&world, "look at @desk:desk://7 please"));
    assert!(said(&requests(&world)[0]).contains("Desk seven is by the window."), "{}", said(&requests(&world)[0]));
}

/// Its server says so: neither a mode nor a rule nor a program decides about such a tool.
#[test]
fn a_tool_that_wants_a_person_is_never_run_without_one() {
    let sign = || json!([call("mcp__desk__sign", &json!({})), say("done")]);
    let world = with_desk(sign());
    let flags = ["--dangerously-skip-permissions", "--allowedTools", "mcp__desk__sign"];
    let outcome = finish(streaming(&world, "hi").args(flags));
    assert!(tool_results(&outcome)[0].contains("was not run"), "{:?}", tool_results(&outcome));
    assert_eq!(outcome.result().unwrap()["permission_denials"].as_array().unwrap().len(), 1);
    let world = with_desk(sign());
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(flags)
        .args(["--permission-prompt-tool", "stdio"])
        .prompt("hi")
        .wait(
            json!({"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "mcp__desk__sign"}}),
        )
        .send(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ",
            "response": {"behavior": "allow", "updatedInput": {}}}}))
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty() && tool_results(&outcome)[0].contains("signed"), "{:?}", outcome.lines);
}

#[test]
fn a_server_that_the_user_adds_is_there_in_later_runs() {
    let world = with_desk(json!([say("ok"), say("ok"), say("ok")]));
    std::fs::remove_file(world.wd().join(".mcp.json")).unwrap();
    let mcp = |words: &[&str]| finish(claude(&world).args(["mcp"]).args(words.iter().copied()).close());
    for scope in ["local", "project", "user"] {
        let added = mcp(&["add", "-s", scope, "desk", "--", "sh", "servers/desk.sh"]);
        assert_eq!(
            (added.code, added.lines[0].as_str()),
            (Some(0), format!("Added MCP server desk ({scope} scope)").as_str())
        );
        let health = if scope == "project" {
            "⏸ Not started: this folder is not trusted ('ralph trust')"
        } else {
            "✓ Connected, 2 tools"
        };
        assert_eq!(mcp(&["list"]).lines, [format!("desk: sh servers/desk.sh ({scope}) - {health}")]);
        let outcome = finish(streaming(&world, "hi"));
        assert_eq!(
            init(&outcome)["mcp_servers"],
            json!([{"name": "desk", "status": "connected", "source": scope}]),
            "{scope}"
        );
        assert!(mcp(&["get", "desk"]).lines.concat().contains("servers/desk.sh"));
        assert_eq!(mcp(&["remove", "desk"]).lines, [format!("Removed MCP server desk ({scope} scope)")]);
    }
    for (words, expected) in [
        (&["remove", "desk"][..], "No MCP server found with name: desk"),
        (&["add-json", "bad", r#"{"type":"ws","url":"ws://x"}"#], "is not supported"),
        (&["add-json", "bad", "{"], "is not JSON"),
        (&["add-from-claude-desktop"], "is not part of this agent"),
        (&["sell", "it"], "unknown command 'mcp sell'. There are: add, add-json, list"),
    ] {
        let refused = mcp(words);
        assert!(refused.code == Some(1) && refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
    }
}

#[test]
fn lists_in_the_settings_keep_servers_out() {
    let world = with_desk(json!([say("ok")]));
    let settings = json!({"deniedMcpServers": [{"serverName": "desk"}]}).to_string();
    let outcome = finish(streaming(&world, "hi").args(["--settings", &settings]));
    assert_eq!(init(&outcome)["mcp_servers"], json!([]));
    assert_eq!(init(&outcome)["mcp_server_errors"][0]["type"], "blocked_by_policy");
}

#[test]
fn a_configuration_that_cannot_be_read_is_told() {
    for (text, words) in
        [("{bad", ".mcp.json is not JSON"), (r#"{"mcpServers":{"x":{"url":"http://x"}}}"#, "needs \"type\"")]
    {
        let world = project(json!([say("ok")]));
        add(&world, ".mcp.json", text);
        let outcome = finish(streaming(&world, "hi"));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        let message = init(&outcome)["mcp_server_errors"][0]["message"].take();
        assert!(message.as_str().is_some_and(|message| message.contains(words)), "{message}");
    }
}
