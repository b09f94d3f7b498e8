//! `mcp serve`: our tools for another client, with the permissions of the settings.

use super::{here, own};
use crate::common::{claude, finish};
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn tool(id: u64, name: &str, arguments: &Value) -> Value {
    request(id, "tools/call", &json!({"name": name, "arguments": arguments}))
}

fn served(world: &World, words: &[&str], lines: &[Value]) -> Outcome {
    let start =
        |run: Run| run.send(request(1, "initialize", &json!({"protocolVersion": "2025-06-18"}))).wait(json!({"id": 1}));
    let mut run = start(claude(world).args(words.iter().copied()));
    for line in lines {
        run = run.send(line.clone()).wait(json!({"id": line["id"]}));
    }
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?} {}", outcome.lines, outcome.stderr);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome
}

fn answer(outcome: &Outcome, id: u64) -> Value {
    outcome.events().into_iter().find(|event| event["id"] == id).expect("an answer")
}

fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn tools_are_listed_and_run_as_far_as_the_settings_allow() {
    let world = super::plain();
    here(&world, "a.txt", "alpha\n");
    own(
        &world,
        ".claude/settings.json",
        &json!({"permissions": {"allow": ["Bash(touch allowed)"], "deny": ["Read(./secret.txt)"]}}),
    );
    here(&world, "secret.txt", "hidden words\n");
    let path = |name: &str| world.wd().join(name).display().to_string();
    let outcome = served(
        &world,
        &["mcp", "serve"],
        &[
            request(2, "tools/list", &json!({})),
            tool(3, "Read", &json!({"file_path": path("a.txt")})),
            tool(4, "Write", &json!({"file_path": path("b.txt"), "content": "x"})),
            tool(5, "Bash", &json!({"command": "touch allowed"})),
            tool(6, "Bash", &json!({"command": "touch forbidden"})),
            tool(7, "Read", &json!({"file_path": path("secret.txt")})),
            tool(8, "Read", &json!({"file": "wrong"})),
            tool(9, "Agent", &json!({})),
            request(10, "resources/list", &json!({})),
        ],
    );
    let names: Vec<Value> = answer(&outcome, 2)["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert!(
        names.contains(&json!("Read")) && names.contains(&json!("Bash")) && !names.contains(&json!("Agent")),
        "{names:?}"
    );
    assert!(text(&answer(&outcome, 3)).contains("alpha"));
    for (id, word) in [(4, "Write was not run"), (6, "Bash was not run"), (7, "Read was not run")] {
        let answer = answer(&outcome, id);
        assert!(answer["result"]["isError"] == true && text(&answer).contains(word), "{answer}");
    }
    assert!(!outcome.lines.join("\n").contains("hidden words"));
    assert_eq!(answer(&outcome, 5)["result"]["isError"], false);
    assert!(
        world.wd().join("allowed").exists()
            && !world.wd().join("forbidden").exists()
            && !world.wd().join("b.txt").exists()
    );
    assert_eq!(answer(&outcome, 8)["result"]["isError"], true);
    assert_eq!(
        (&answer(&outcome, 9)["error"]["code"], &answer(&outcome, 10)["error"]["code"]),
        (&json!(-32602), &json!(-32601))
    );
    assert!(world.mock().requests().is_empty(), "no model was asked");
}

#[test]
fn a_mode_of_the_command_line_and_hooks_of_the_user_count() {
    let world = super::plain();
    let hook = json!({"matcher": "Write", "hooks": [{"type": "command", "command": "grep -q no.txt && { echo not this one >&2; exit 2; }; exit 0"}]});
    own(&world, ".claude/settings.json", &json!({"hooks": {"PreToolUse": [hook]}}));
    let path = |name: &str| world.wd().join(name).display().to_string();
    let write = |id, name: &str| tool(id, "Write", &json!({"file_path": path(name), "content": "x"}));
    let outcome = served(
        &world,
        &["--permission-mode", "acceptEdits", "mcp", "serve"],
        &[write(2, "yes.txt"), write(3, "no.txt")],
    );
    assert_eq!(answer(&outcome, 2)["result"]["isError"], false, "{}", text(&answer(&outcome, 2)));
    assert!(text(&answer(&outcome, 3)).contains("not this one"), "{}", text(&answer(&outcome, 3)));
    assert!(world.wd().join("yes.txt").exists() && !world.wd().join("no.txt").exists());
}

#[test]
fn a_command_that_runs_ends_with_its_client() {
    let world = super::plain();
    own(&world, ".claude/settings.json", &json!({"permissions": {"allow": ["Bash"]}}));
    let run = claude(&world)
        .args(["mcp", "serve"])
        .send(tool(1, "Bash", &json!({"command": "echo $$ > pid; exec sleep 60"})))
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .send(tool(2, "Bash", &json!({"command": "echo $$ > pid; sleep 60"})))
        .send(request(3, "ping", &json!({})))
        .wait(json!({"id": 3}));
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(!outcome.lines.join("\n").contains("\"id\":1"), "nobody waits for it: {:?}", outcome.lines);
}
