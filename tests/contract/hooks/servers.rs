//! Questions that servers have for people, and what hooks say to them.

use super::{answer, duplex, heard, notes, only, run};
use crate::common::{call, finish, mcp_server, say, tool_results, world};
use serde_json::{Value, json};

/// A server whose tool asks the user before it answers with what it heard.
const SERVER: &str = r#"
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"desk","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"book","description":"books a desk","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"prompts/list"'*) answer '{"prompts":[{"name":"plan","description":"plans a day"}]}' ;;
    *'"prompts/get"'*) answer '{"messages":[{"role":"user","content":{"type":"text","text":"Plan the day."}}]}' ;;
    *'"tools/call"'*)
      call=$id
      echo '{"jsonrpc":"2.0","id":99,"method":"elicitation/create","params":{"mode":"form","message":"Which desk?","requestedSchema":{"type":"object","properties":{"desk":{"type":"string"}}}}}' ;;
    *'"id":99'*)
      id=$call
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"heard: $(printf %s "$line" | tr -d '"{}')\"}]}" ;;
"#;

fn servers() -> String {
    json!({"mcpServers": {"desk": {"command": "sh", "args": ["-c", mcp_server(SERVER)]}}}).to_string()
}

fn book() -> Value {
    json!([call("mcp__desk__book", &json!({})), say("booked")])
}

#[test]
fn a_hook_answers_in_a_persons_place() {
    for (command, expected) in [
        (
            "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Elicitation\",\"action\":\"accept\",\"content\":{\"desk\":\"7\"}}}'",
            "action:accept,content:desk:7",
        ),
        ("echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Elicitation\",\"action\":\"cancel\"}}'", "action:cancel"),
        ("echo no >&2; exit 2", "action:decline"),
    ] {
        let world = world(book());
        let hooks = json!({"hooks": {
            "Elicitation": [
                {"matcher": "desk", "hooks": [notes("asked"), {"type": "command", "command": command}]},
                {"matcher": "other", "hooks": [notes("other")]},
            ],
            "Notification": [{"hooks": [notes("notified")]}],
        }});
        let outcome = finish(run(&world, &hooks, "go").args(["--mcp-config", &servers()]));
        assert!(tool_results(&outcome)[0].contains(expected), "{command}: {:?}", tool_results(&outcome));
        let told = only(&world, "asked");
        assert_eq!(
            (&told["mcp_server_name"], &told["message"], &told["mode"]),
            (&json!("desk"), &json!("Which desk?"), &json!("form"))
        );
        assert_eq!(told["requested_schema"]["properties"]["desk"]["type"], "string");
        assert!(heard(&world, "other").is_empty() && heard(&world, "notified").is_empty());
    }
}

#[test]
fn a_persons_answer_is_told_and_may_be_changed() {
    for (command, expected) in [
        ("true", "content:desk:3"),
        (
            "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"ElicitationResult\",\"action\":\"accept\",\"content\":{\"desk\":\"8\"}}}'",
            "content:desk:8",
        ),
        ("exit 2", "action:decline"),
    ] {
        let world = world(book());
        let hooks = json!({"hooks": {
            "ElicitationResult": [{"matcher": "desk", "hooks": [notes("answered"), {"type": "command", "command": command}]}],
            "Notification": [{"matcher": "elicitation_dialog", "hooks": [notes("notified")]}],
        }});
        let outcome = finish(
            duplex(&world, &hooks)
                .args(["--mcp-config", &servers(), "--allowedTools", "mcp__desk"])
                .prompt("go")
                .wait(json!({"type": "control_request", "request": {"subtype": "elicitation"}}))
                .send(answer(&json!({"action": "accept", "content": {"desk": "3"}})))
                .wait(json!({"type": "result"}))
                .close(),
        );
        assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
        assert!(tool_results(&outcome)[0].contains(expected), "{command}: {:?}", tool_results(&outcome));
        let told = only(&world, "answered");
        assert_eq!((&told["action"], &told["content"]), (&json!("accept"), &json!({"desk": "3"})));
        assert_eq!(only(&world, "notified")["notification_type"], "elicitation_dialog");
    }
}

#[test]
fn a_servers_prompt_is_an_expansion_too() {
    let world = world(json!([say("planned")]));
    let hooks =
        json!({"hooks": {"UserPromptExpansion": [{"matcher": "mcp__desk__plan", "hooks": [notes("expanded")]}]}});
    finish(run(&world, &hooks, "/mcp__desk__plan").args(["--mcp-config", &servers()]));
    let told = only(&world, "expanded");
    assert_eq!((&told["expansion_type"], &told["command_name"]), (&json!("mcp_prompt"), &json!("mcp__desk__plan")));
}

/// Listing and reading resources were past hooks and rules.
#[test]
fn resources_are_asked_about_like_any_other_call() {
    let read = json!({"server": "desk", "uri": "desk://7"});
    let world =
        world(json!([call("ListMcpResourcesTool", &json!({})), call("ReadMcpResourceTool", &read), say("done")]));
    let settings = json!({"hooks": {
        "PreToolUse": [
            {"matcher": "ListMcpResourcesTool", "hooks": [notes("before")]},
            {"matcher": "ReadMcpResourceTool", "hooks": [{"type": "command", "command": "echo not this one >&2; exit 2"}]},
        ],
        "PostToolUse": [{"hooks": [notes("after")]}],
    }});
    let outcome = finish(run(&world, &settings, "go").args(["--mcp-config", &servers()]));
    assert_eq!(only(&world, "before")["tool_name"], "ListMcpResourcesTool");
    assert_eq!(only(&world, "after")["tool_name"], "ListMcpResourcesTool");
    let results = tool_results(&outcome);
    assert_eq!(results[0], "There are no resources.");
    assert!(results[1].contains("not this one"), "{results:?}");
}

/// A server with one resource.
const LIBRARY: &str = r#"
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"resources":{}},"serverInfo":{"name":"library","version":"1"}}' ;;
    *'"resources/list"'*) answer '{"resources":[{"uri":"book://one","name":"one"}]}' ;;
    *'"resources/read"'*) answer '{"contents":[{"uri":"book://one","text":"once upon a time"}]}' ;;
    *'"id"'*) answer '{}' ;;
"#;

#[test]
fn resources_of_servers_take_the_path_of_every_call() {
    let library =
        json!({"mcpServers": {"library": {"command": "sh", "args": ["-c", mcp_server(LIBRARY)]}}}).to_string();
    let input = json!({"server": "library", "uri": "book://one"});
    let calls = || json!([call("ListMcpResourcesTool", &json!({})), call("ReadMcpResourceTool", &input), say("read")]);

    let world = world(calls());
    let all = json!([{"hooks": [notes("told")]}]);
    let hooks = json!({"hooks": {"PreToolUse": all, "PostToolUse": all}});
    let outcome = finish(run(&world, &hooks, "go").args(["--mcp-config", &library]));
    assert!(tool_results(&outcome)[1].contains("once upon a time"), "{:?}", tool_results(&outcome));
    let told: Vec<String> = heard(&world, "told").iter().map(|line| line["tool_name"].to_string()).collect();
    let expected = [r#""ListMcpResourcesTool""#, r#""ReadMcpResourceTool""#].map(|name| [name; 2]).concat();
    assert_eq!(told, expected);

    let world = crate::common::world(calls());
    let rules = json!({"permissions": {"ask": ["ReadMcpResourceTool"]}});
    let outcome = finish(run(&world, &rules, "go").args(["--mcp-config", &library]));
    assert_eq!(outcome.result().unwrap()["permission_denials"][0]["tool_name"], "ReadMcpResourceTool");
    assert!(!tool_results(&outcome)[1].contains("once upon a time"), "{:?}", tool_results(&outcome));
}
