//! MCP servers that take long to start: they do not hold up the first request, and are there when they are ready.

use super::{here, own, run};
use crate::common::{bash, call, claude, finish, mcp_server, say, tool_results, world};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{Outcome, World};

/// A server that answers once a file `go` is there, and says so with a file `ready`.
const LATE: &str = r#"
    *'"initialize"'*)
      while ! test -e go; do sleep 0.02; done
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"late","version":"1"}}' ;;
    *'"tools/list"'*)
      answer '{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}'
      (sleep 0.4; touch ready) & ;;
    *'"tools/call"'*) answer '{"content":[{"type":"text","text":"hello from late"}]}' ;;
"#;

fn init(outcome: &Outcome) -> Value {
    outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init")
}

fn tools(request: &Value) -> Vec<&str> {
    request["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// A server of the user that never answers.
fn with_hanging(turns: Value) -> World {
    let world = world(turns);
    own(&world, ".claude.json", &json!({"mcpServers": {"slow": {"command": "sleep", "args": ["60"]}}}));
    world
}

#[test]
fn a_server_that_hangs_costs_two_seconds_and_is_told_as_pending() {
    let world = with_hanging(json!([say("done")]));
    let words = ["-p", "hi", "--verbose", "--output-format", "stream-json"];
    let started = Instant::now();
    let outcome = finish(claude(&world).args(words).close());
    let took = started.elapsed();
    assert_eq!(outcome.result().expect("a result")["result"], "done", "{}", outcome.stderr);
    assert_eq!(init(&outcome)["mcp_servers"], json!([{"name": "slow", "status": "pending", "source": "user"}]));
    assert!((Duration::from_secs(2)..Duration::from_secs(20)).contains(&took), "{took:?}");
}

#[test]
fn nobody_waits_where_the_environment_says_so() {
    let world = with_hanging(json!([say("done")]));
    let waits = claude(&world).args(["-p", "hi"]).env("MCP_CONNECT_TIMEOUT_MS", "4000").close();
    let started = Instant::now();
    finish(waits);
    assert!(started.elapsed() >= Duration::from_secs(4));
    let world = with_hanging(json!([say("done")]));
    let hurries = claude(&world).args(["-p", "hi"]).env("MCP_CONNECTION_NONBLOCKING", "1");
    let started = Instant::now();
    // The wait for a server that hangs would be longer than this test.
    let outcome = finish(hurries.env("MCP_CONNECT_TIMEOUT_MS", "50000").close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_server_that_is_ready_later_is_there_from_the_next_request_on() {
    let wait = bash("touch go; while ! test -e ready; do sleep 0.05; done");
    let world = world(json!([wait, call("mcp__late__hello", &json!({})), say("done")]));
    here(&world, "late.sh", &mcp_server(LATE));
    own(&world, ".claude.json", &json!({"mcpServers": {"late": {"command": "sh", "args": ["late.sh"]}}}));
    let words = ["-p", "hi", "--verbose", "--output-format", "stream-json", "--allowedTools", "Bash", "mcp__late"];
    let outcome = finish(claude(&world).args(words).close());
    let requests: Vec<Value> = world.mock().requests().into_iter().map(|request| request.body).collect();
    assert!(!tools(&requests[0]).contains(&"mcp__late__hello"));
    assert!(tools(&requests[1]).contains(&"mcp__late__hello"), "{:?}", tools(&requests[1]));
    assert!(tool_results(&outcome)[1].contains("hello from late"), "{:?}", outcome.lines);
}

/// Who names a server on the command line wants it.
#[test]
fn a_server_of_the_command_line_is_waited_for() {
    let world = world(json!([call("mcp__late__hello", &json!({})), say("done")]));
    here(&world, "late.sh", &format!("(sleep 3; touch go) &\n{}", mcp_server(LATE)));
    let config = json!({"mcpServers": {"late": {"command": "sh", "args": ["late.sh"]}}}).to_string();
    let words = ["-p", "hi", "--verbose", "--output-format", "stream-json", "--allowedTools", "mcp__late"];
    let outcome = finish(claude(&world).args(words).args(["--mcp-config", &config]).close());
    assert_eq!(init(&outcome)["mcp_servers"][0]["status"], "connected");
    assert!(tool_results(&outcome)[0].contains("hello from late"), "{:?}", outcome.lines);
}

#[test]
fn the_list_says_how_each_server_stands() {
    let world = super::plain();
    here(&world, "late.sh", &mcp_server(LATE));
    here(&world, "go", "");
    let servers = json!({"mcpServers": {
        "fine": {"command": "sh", "args": ["late.sh"]},
        "gone": {"command": "sh", "args": ["-c", "echo no database >&2; exit 3"]},
        "hangs": {"command": "sleep", "args": ["60"]},
    }});
    own(&world, ".claude.json", &servers);
    let listed = finish(claude(&world).args(["mcp", "list"]).env("MCP_TIMEOUT", "3000").close());
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    for (name, words) in
        [("fine", "✓ Connected, 1 tools"), ("gone", "✗ Failed to connect"), ("hangs", "✗ Failed to connect")]
    {
        let line = listed.lines.iter().find(|line| line.starts_with(name)).expect(name);
        assert!(line.contains(words), "{line}");
    }
    let one = run(&world, &["mcp", "get", "fine"]);
    assert!(one.lines.iter().any(|line| line == "Status: ✓ Connected, 1 tools"), "{:?}", one.lines);
}

/// A look at the list runs nothing that a repository brought.
#[test]
fn the_list_starts_no_server_of_an_untrusted_folder() {
    let world = super::plain();
    let servers = json!({"mcpServers": {"theirs": {"command": "sh", "args": ["-c", "touch ran; sleep 5"]}}});
    here(&world, ".mcp.json", &servers.to_string());
    for words in [&["mcp", "list"][..], &["mcp", "get", "theirs"]] {
        let outcome = run(&world, words);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            outcome.lines.iter().any(|line| line.contains("Not started: this folder is not trusted")),
            "{:?}",
            outcome.lines
        );
    }
    assert!(!world.wd().join("ran").exists());
    let refused = run(&world, &["mcp", "login", "theirs"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("not trusted"), "{}", refused.stderr);
}
