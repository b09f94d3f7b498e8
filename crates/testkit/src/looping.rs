//! A folder with a loop in it, and fake agents to put into it.
//!
//! A fake agent is a shell script that is run once for each call. It knows how to speak (`say`, `result`,
//! `failure`), how to listen (`hear`), how to change something (`work`), and in `$n` which call it is.
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

use crate::{Outcome, Run, World};
use mock::Script;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub const PROMISE: &str = "<promise>COMPLETE</promise>";

/// What every fake agent begins with: it counts its calls and keeps what it is given.
const PREAMBLE: &str = r#"#!/bin/sh
n=$(cat "$HOME/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/count"
echo "$*" >> "$HOME/args"
say() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s1"}\n' "$n" "$1"; }
result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$1"; }
failure() { printf '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"%s","session_id":"s1","total_cost_usd":0.01}\n' "$1"; }
structured() { printf '{"type":"result","subtype":"success","is_error":false,"result":"x","structured_output":{"summary":%s},"total_cost_usd":0.01}\n' "$1"; }
hear() { read -r line; printf '%s\n' "$line" >> "$HOME/heard"; }
work() { echo "$n" >> work.txt; }
"#;

/// A trusted repository with a prompt and a todo list.
pub fn folder() -> World {
    with_model(json!([]))
}

/// Fake agents keep their notes in the home folder, where the sandbox lets no agent write. It has a suite of its own.
const CONFIG: &str = "sandbox = \"off\"\n";

/// The same, with a model for the built-in agent.
pub fn with_model(turns: Value) -> World {
    let files = [
        (".ralph/prompt.md", "# Build it\n"),
        (".ralph/todo.md", "- [x] one\n- [x] two\n"),
        (".ralph/config.toml", CONFIG),
    ];
    let world = World::new(files, Script::from_value(turns).expect("a script")).expect("a world");
    trust(&world);
    world
}

pub fn trust(world: &World) {
    let folder = world.wd().display().to_string();
    let state = json!({"projects": {folder: {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), state.to_string()).expect("a trusted folder");
}

/// Puts a fake agent into the world.
pub fn agent(world: &World, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.home().join("agent.sh");
    std::fs::write(&path, format!("{PREAMBLE}{script}\n")).expect("an agent");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

pub fn ralph(binary: &Path, world: &World, words: &[&str]) -> Run {
    world.run(binary).named("ralph").args(words.iter().copied())
}

/// `ralph --json` with this agent, quick to go on after failures.
pub fn looped(binary: &Path, world: &World, script: &str, words: &[&str]) -> Run {
    let backend = format!("--backend={}", agent(world, script).display());
    ralph(binary, world, &["--json", &backend, "--failure-pause", "0"]).args(words.iter().copied())
}

/// Runs it to its end. A run that hangs, or never says what is waited for, is a failure of its own.
///
/// # Panics
/// In those cases.
pub fn told(run: Run) -> (Outcome, Vec<Value>) {
    let outcome = run.close().finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stderr: {}", outcome.stderr);
    assert_eq!(outcome.unmet, Vec::<Value>::new(), "it never said this; stdout: {:#?}", outcome.lines);
    let events = outcome.events();
    (outcome, events)
}

/// The events of one type.
pub fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// How each iteration ended; of failed ones, how they failed.
pub fn outcomes(events: &[Value]) -> Vec<String> {
    let outcome = |event: &&Value| {
        let outcome = &event["receipt"]["outcome"];
        outcome["failure"].as_str().or(outcome["kind"].as_str()).unwrap_or("?").to_owned()
    };
    of(events, "iteration_ended").iter().map(outcome).collect()
}

/// The last verdict and its exit code.
pub fn verdict(events: &[Value]) -> (String, u64) {
    let last = of(events, "verdict").last().map(|event| (**event).clone()).unwrap_or_default();
    (last["verdict"].as_str().unwrap_or("none").to_owned(), last["exit_code"].as_u64().unwrap_or(99))
}

/// What agents heard, one message a line.
pub fn heard(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits for a process to be gone; there is nothing to be told by.
pub fn is_gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if stat.is_empty() || stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// The command lines of the agents, one call a line.
pub fn called(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join("args")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
