//! Hooks that are no plain commands: a model's opinion, an agent's, a server's tool, and one that calls back.

use super::{asked, duplex, notes, on, run, said};
use crate::common::{bash, call, claude, finish, results, say, tool_results, world};
use serde_json::{Value, json};

fn thinks(ok: bool, reason: &str) -> Value {
    say(&json!({"ok": ok, "reason": reason}).to_string())
}

#[test]
fn a_model_may_send_the_work_on() {
    let script = json!({"turns": [say("half done"), say("all done")], "untooled": [thinks(false, "the roof leaks"), thinks(true, "")]});
    let world = world(script);
    let hooks = on("Stop", &json!([{"type": "prompt", "prompt": "Is the roof mended? $ARGUMENTS"}]));
    // Behind a gateway the main model is asked, unless a small one is named.
    let outcome = finish(run(&world, &hooks, "go").env("ANTHROPIC_DEFAULT_HAIKU_MODEL", "their-haiku"));
    assert_eq!(outcome.result().unwrap()["result"], "all done");
    assert!(said(&world, 1).contains("the roof leaks"));
    let question = world.mock().requests().into_iter().find(|request| !request.has_tools()).unwrap().body;
    let words = question["messages"].to_string();
    assert!(words.contains("Is the roof mended? {") && words.contains("half done"), "{words}");
    assert!(question["model"].as_str().unwrap().contains("haiku"), "{question}");
}

#[test]
fn a_model_refuses_a_call_and_never_allows_one() {
    for (opinion, runs) in [(thinks(false, "too risky"), false), (thinks(true, "fine"), true), (say("yes!"), true)] {
        let world = world(json!({"turns": [bash("touch made"), say("done")], "untooled": [opinion]}));
        let hooks = on("PreToolUse", &json!([{"type": "prompt", "prompt": "Is it safe?", "model": "sonnet"}]));
        finish(run(&world, &hooks, "go"));
        assert_eq!(world.read("made").is_some(), runs);
        let question = world.mock().requests().into_iter().find(|request| !request.has_tools()).unwrap().body;
        assert!(question["model"].as_str().unwrap().contains("sonnet"));
    }
    // Without the bypass, an opinion that all is well is no permission.
    let world = world(json!({"turns": [bash("touch made"), say("done")], "untooled": [thinks(true, "fine")]}));
    let hooks = on("PreToolUse", &json!([{"type": "prompt", "prompt": "Is it safe?"}]));
    finish(claude(&world).args(["-p", "go", "--settings", &hooks.to_string()]).close());
    assert_eq!(world.read("made"), None);
}

#[test]
fn an_agent_looks_before_it_judges_and_is_not_judged_itself() {
    let world = world(json!([
        say("half done"),
        call("Read", &json!({"file_path": "$WD/roof"})),
        thinks(false, "the roof file says leaking"),
        say("all done"),
        thinks(true, "")
    ]));
    std::fs::write(world.wd().join("roof"), "leaking").unwrap();
    let hooks = json!({"hooks": {
        "Stop": [{"hooks": [{"type": "agent", "prompt": "Check the roof file."}]}],
        "SubagentStop": [{"hooks": [{"type": "agent", "prompt": "Is it done?"}]}],
        "PreToolUse": [{"hooks": [{"type": "agent", "prompt": "Is it safe?"}, notes("before")]}],
    }});
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!((outcome.code, asked(&world)), (Some(0), 5), "{}", outcome.stderr);
    assert_eq!(outcome.result().unwrap()["result"], "all done");
    assert!(said(&world, 3).contains("the roof file says leaking"));
    assert!(said(&world, 1).contains("Check the roof file."));
    assert_eq!(super::only(&world, "before")["tool_name"], "Read", "other hooks hear of its calls");
}

/// A server whose tool says what it was given, as a hook's answer.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"guard","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"check","description":"checks","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"tools/call"'*) printf '%s\n' "$line" >> calls
      answer '{"content":[{"type":"text","text":"{\"decision\":\"block\",\"reason\":\"the guard says no\"}"}]}' ;;
  esac
done
"#;

#[test]
fn a_servers_tool_answers_for_a_hook() {
    let world = world(json!([bash("touch made"), say("done")]));
    let servers = json!({"mcpServers": {"guard": {"command": "sh", "args": ["-c", SERVER]}}});
    let hook = json!({"type": "mcp_tool", "server": "guard", "tool": "check", "input": {"what": "${tool_input.command}", "fixed": 7}});
    let run = run(&world, &on("PreToolUse", &json!([hook])), "go").args(["--mcp-config", &servers.to_string()]);
    let outcome = finish(run);
    assert!(tool_results(&outcome)[0].contains("the guard says no"), "{:?}", tool_results(&outcome));
    assert_eq!(world.read("made"), None);
    let called: Value = serde_json::from_str(world.read("calls").unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(called["params"]["arguments"], json!({"what": "touch made", "fixed": 7}));
}

#[test]
fn a_tool_that_is_not_there_is_an_error_and_decides_nothing() {
    let world = world(json!([bash("touch made"), say("done")]));
    let hook = json!({"type": "mcp_tool", "server": "gone", "tool": "check"});
    let outcome = finish(run(&world, &on("PreToolUse", &json!([hook])), "go"));
    assert!(world.read("made").is_some());
    assert!(outcome.lines.iter().any(|line| line.contains("no MCP server is configured")), "{:?}", outcome.lines);
}

#[test]
fn a_hook_in_the_background_wakes_a_session_that_waits() {
    let world = world(json!([say("started"), say("looking into it")]));
    let script = "until [ -e go ]; do sleep 0.02; done; echo 'the build broke' >&2; exit 2";
    let hooks = on("Stop", &json!([{"type": "command", "command": script, "asyncRewake": true}]));
    let outcome = finish(
        duplex(&world, &hooks)
            .prompt("go")
            .wait(json!({"type": "result", "result": "started"}))
            .send(control_touch(&world))
            .wait(json!({"type": "result", "result": "looking into it"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    assert!(said(&world, 1).contains("the build broke"));
}

/// Lets the hook go on, between two steps of the client.
fn control_touch(world: &testkit::World) -> Value {
    let go = world.wd().join("go");
    std::thread::spawn(move || std::fs::write(go, ""));
    json!({"type": "keep_alive"})
}

#[test]
fn only_a_refusal_wakes() {
    for (handler, turns) in [
        (json!({"type": "command", "command": "exit 0", "asyncRewake": true}), 1),
        (json!({"type": "command", "command": "exit 2", "async": true}), 1),
        (json!({"type": "command", "command": "echo no >&2; exit 2", "asyncRewake": true}), 2),
    ] {
        let world = world(json!([bash("sleep 0.3"), say("done"), say("woken")]));
        let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [handler]}]}});
        let outcome = finish(duplex(&world, &hooks).args(["--dangerously-skip-permissions"]).prompt("go").close());
        assert_eq!(results(&outcome).len(), turns, "{handler}");
    }
}

#[test]
fn a_condition_is_read_from_where_its_file_stands() {
    let rule = |file: &str| json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "if": "Write(/a.txt)", "command": format!("cat > $CLAUDE_PROJECT_DIR/{file}")}]}]}});
    let world = world(json!([
        call("Write", &json!({"file_path": "$WD/a.txt", "content": "x"})),
        call("Write", &json!({"file_path": "$HOME/.claude/a.txt", "content": "x"})),
        say("done")
    ]));
    for (folder, file) in [(world.wd(), "by-project"), (world.home(), "by-user")] {
        std::fs::create_dir(folder.join(".claude")).unwrap();
        std::fs::write(folder.join(".claude/settings.json"), rule(file).to_string()).unwrap();
    }
    finish(run(&world, &json!({}), "go"));
    let path = |file: &str| super::only(&world, file)["tool_input"]["file_path"].clone();
    assert_eq!(path("by-project"), json!(world.wd().join("a.txt")));
    assert_eq!(path("by-user"), json!(world.home().join(".claude/a.txt")));
}
