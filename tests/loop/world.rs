//! A folder with a loop in it, and agents to put into it.

use crate::common::{binary, finish};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// What every fake agent begins with: it counts its calls, keeps its first message, and knows how to speak.
const PREAMBLE: &str = r#"#!/bin/sh
n=$(cat "$HOME/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/count"
echo "$*" >> "$HOME/args"
say() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s1"}\n' "$n" "$1"; }
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$1"; }
failure() { printf '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"%s","session_id":"s1","total_cost_usd":0.01}\n' "$1"; }
hear() { read -r line; printf '%s\n' "$line" >> "$HOME/heard"; }
work() { echo "$n" >> work.txt; }
"#;

/// A trusted repository with a prompt.
pub fn folder() -> World {
    with_model(json!([]))
}

pub fn with_model(turns: Value) -> World {
    let files = [(".ralph/prompt.md", "# Build it\n"), (".ralph/todo.md", "- [ ] one\n- [x] two\n")];
    let world = World::new(files, mock::Script::from_value(turns).unwrap()).unwrap();
    trust(&world);
    world
}

pub fn trust(world: &World) {
    let folder = world.wd().display().to_string();
    let state = json!({"projects": {folder: {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), state.to_string()).unwrap();
}

/// A fake agent; the script runs once for each call.
pub fn agent(world: &World, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.home().join("agent.sh");
    std::fs::write(&path, format!("{PREAMBLE}{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub fn ralph(world: &World, words: &[&str]) -> Run {
    world.run(&binary()).named("ralph").args(words.iter().copied())
}

/// `ralph --json` with this agent, quick to go on after failures.
pub fn looped(world: &World, script: &str, words: &[&str]) -> Run {
    let agent = agent(world, script);
    let backend = format!("--backend={}", agent.display());
    ralph(world, &["--json", &backend, "--failure-pause", "0"]).args(words.iter().copied())
}

/// Runs it, and everything it said.
pub fn told(run: Run) -> (Outcome, Vec<Value>) {
    let outcome = finish(run.close());
    let events = outcome.events();
    (outcome, events)
}

pub fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

pub fn outcomes(events: &[Value]) -> Vec<String> {
    let outcome = |event: &&Value| {
        let outcome = &event["receipt"]["outcome"];
        outcome["failure"].as_str().or(outcome["kind"].as_str()).unwrap_or("?").to_owned()
    };
    of(events, "iteration_ended").iter().map(outcome).collect()
}

pub fn verdict(events: &[Value]) -> (String, u64) {
    let last = of(events, "verdict").last().map(|event| (**event).clone()).unwrap_or_default();
    (last["verdict"].as_str().unwrap_or("none").to_owned(), last["exit_code"].as_u64().unwrap_or(99))
}

/// What agents heard, one first message a line.
pub fn heard(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
