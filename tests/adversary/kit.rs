//! One run of the agent in which the model asks for many things at once, and what became of each.

use mock::{Script, ScriptedAnswer};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

/// Programs that leave a trace when they run: the fake ones stand first on the search path.
const TRACED: [&str; 3] = ["curl", "wget", "evil"];

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// Runs to the end; a run that hangs is a failure of its own.
pub fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stdout: {:#?}\nstderr: {}", outcome.lines, outcome.stderr);
    outcome
}

pub fn script(turns: Value) -> Script {
    Script::from_value(turns).expect("a script")
}

/// A turn of the model: it says this and is done.
pub fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub fn call(tool: &str, input: &Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": tool, "input": input}]})
}

pub fn bash(command: &str) -> Value {
    call("Bash", &json!({"command": command}))
}

pub fn stream(world: &World) -> Run {
    world.run(&binary()).args(["-p", "go", "--verbose", "--output-format", "stream-json"])
}

pub fn duplex(world: &World) -> Run {
    let formats = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    world.run(&binary()).args(formats)
}

/// Permission rules as the user's settings have them.
#[derive(Default, Clone, Copy)]
pub struct Rules<'a> {
    pub allow: &'a [&'a str],
    pub deny: &'a [&'a str],
    pub mode: &'a str,
}

impl Rules<'_> {
    fn args(&self) -> Vec<String> {
        let settings = json!({"permissions": {"allow": self.allow, "deny": self.deny}});
        let mode = if self.mode.is_empty() { "default" } else { self.mode };
        vec!["--settings".into(), settings.to_string(), "--permission-mode".into(), mode.into()]
    }
}

/// What became of the calls of one turn.
pub struct Judged {
    pub outcome: Outcome,
    /// By the place of the call: is it in the result's list of denials?
    pub denied: Vec<bool>,
    /// By the place of the call: what the model was told.
    pub told: Vec<String>,
    /// Fake programs that ran after all.
    pub ran: Vec<String>,
}

/// The model makes all these calls in one turn, in this world.
pub fn judge_in(world: &World, rules: &Rules, calls: usize) -> Judged {
    let bin = traced(world);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let outcome = finish(stream(world).args(rules.args()).env("PATH", &path).close());
    let result = outcome.result().unwrap_or_else(|| panic!("no result; stderr: {}", outcome.stderr));
    assert_eq!(outcome.code, Some(0), "a denial is no failure of the run: {result}\n{}", outcome.stderr);
    let listed = result["permission_denials"].as_array().cloned().unwrap_or_default();
    let denied = (0..calls).map(|n| listed.iter().any(|denial| denial["tool_use_id"] == id(n))).collect();
    let told = (0..calls).map(|n| told(&outcome, &id(n))).collect();
    let ran = TRACED.iter().filter(|name| world.home().join(format!("ran-{name}")).exists());
    Judged { denied, told, ran: ran.map(|name| (*name).to_owned()).collect(), outcome }
}

/// A script in which the model makes all these calls in its first turn.
pub fn all_at_once(calls: &[(&str, Value)]) -> Script {
    let blocks = calls.iter().enumerate();
    let blocks =
        blocks.map(|(n, (tool, input))| json!({"type": "tool_use", "id": id(n), "name": tool, "input": input}));
    Script {
        turns: vec![
            ScriptedAnswer { content: blocks.collect(), ..ScriptedAnswer::default() },
            ScriptedAnswer::text("done"),
        ],
        ..Script::default()
    }
}

pub fn judge(files: &[(&str, &str)], rules: &Rules, calls: &[(&str, Value)]) -> Judged {
    let world = World::new(files.iter().copied(), all_at_once(calls)).expect("a world");
    judge_in(&world, rules, calls.len())
}

pub fn commands(texts: &[&str]) -> Vec<(&'static str, Value)> {
    texts.iter().map(|text| ("Bash", json!({"command": text}))).collect()
}

/// Every one of these is denied, and none of them has run.
pub fn assert_denied(rules: &Rules, texts: &[&str]) {
    let judged = judge(&[("a.txt", "a\n"), ("secret/key", "hush\n")], rules, &commands(texts));
    let passed: Vec<&str> = texts.iter().zip(&judged.denied).filter(|(_, denied)| !**denied).map(|(t, _)| *t).collect();
    assert!(passed.is_empty(), "these were not denied: {passed:#?}");
    assert_eq!(judged.ran, [] as [String; 0], "something ran");
}

/// None of these is denied.
pub fn assert_allowed(rules: &Rules, texts: &[&str]) {
    let judged = judge(&[("a.txt", "a\n"), ("src/lib.rs", "x\n")], rules, &commands(texts));
    let refused: Vec<_> = texts.iter().zip(&judged.told).zip(&judged.denied).filter(|(_, denied)| **denied).collect();
    assert!(refused.is_empty(), "these were denied: {refused:#?}");
}

fn id(n: usize) -> String {
    format!("toolu_{n:04}")
}

fn told(outcome: &Outcome, id: &str) -> String {
    let events = outcome.events();
    let blocks = events
        .iter()
        .filter(|event| event["type"] == "user")
        .flat_map(|event| event["message"]["content"].as_array().cloned().unwrap_or_default());
    let mut results = blocks.filter(|block| block["type"] == "tool_result" && block["tool_use_id"] == id);
    results
        .next()
        .map(|block| block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned))
        .unwrap_or_default()
}

/// A folder of fake programs, each of which leaves `ran-<name>` in the home folder.
fn traced(world: &World) -> PathBuf {
    let folder = world.home().with_file_name("bin");
    std::fs::create_dir_all(&folder).unwrap();
    for name in TRACED {
        let path = folder.join(name);
        let text = format!("#!/bin/sh\n: > {}/ran-{name}\n", world.home().display());
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    folder
}

/// All files below a folder with their permission bits, folders included.
pub fn modes_below(folder: &std::path::Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let data = entry.metadata().unwrap();
        found.push((entry.path(), data.permissions().mode() & 0o7777));
        if data.is_dir() {
            found.extend(modes_below(&entry.path()));
        }
    }
    found
}
