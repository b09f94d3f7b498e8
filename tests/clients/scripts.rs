//! Starting scripts with an installed client, and reading their verdicts.
#![expect(clippy::disallowed_methods, reason = "the clients need the caller's PATH, with our binary before it")]

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Outcome, Run, World};

/// Whoever is not done by then hangs. One script starts fifty agents and half as many interpreters, one after another, and every
/// test has such a script beside it.
const DEADLINE: Duration = Duration::from_mins(5);

/// A scenario: the language of its client, its file and its function.
#[derive(Clone, Copy)]
pub struct Script {
    language: Language,
    names: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    Python,
    JavaScript,
}

pub const fn py(names: &'static str) -> Script {
    Script { language: Language::Python, names }
}

pub const fn js(names: &'static str) -> Script {
    Script { language: Language::JavaScript, names }
}

/// Plays every script in a world of its own; fails with everything that went wrong.
pub fn play(scripts: &[Script]) {
    let clients = clients();
    if !clients.join("stamp").exists() {
        // Not the macro: the test harness would swallow the line.
        let _ = writeln!(std::io::stderr(), "SKIPPED: clients not installed, run tests/clients/install");
        return;
    }
    let (python, javascript): (Vec<Script>, Vec<Script>) =
        scripts.iter().partition(|script| script.language == Language::Python);
    let mut problems = play_python(&python, &clients);
    problems.extend(javascript.iter().flat_map(|script| play_javascript(*script, &clients)));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// All in one process, because importing the SDK takes longer than most scenarios.
fn play_python(scripts: &[Script], clients: &Path) -> Vec<String> {
    let worlds: Vec<World> = scripts.iter().map(|_| world()).collect();
    let Some(first) = worlds.first() else { return Vec::new() };
    let mut run = start(first, &clients.join("venv/bin/python"), "py/run.py", clients);
    for (script, world) in scripts.iter().zip(&worlds) {
        run = run.args(script.names.split(' ')).args([text(world.wd()), text(world.home())]);
    }
    problems(scripts, &run.finish().expect("a run"))
}

fn play_javascript(script: Script, clients: &Path) -> Vec<String> {
    let world = world();
    let run = start(&world, &clients.join("node/node"), "js/run.mjs", clients).args(script.names.split(' '));
    problems(&[script], &run.finish().expect("a run"))
}

fn world() -> World {
    World::empty(mock::Script::default()).expect("a world")
}

/// The program with its runner, and in its environment everything a script needs to know.
fn start(world: &World, program: &Path, runner: &str, clients: &Path) -> Run {
    let binary = Path::new(env!("CARGO_BIN_EXE_ralph"));
    let bin = world.home().with_file_name("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(binary, bin.join("claude")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    world
        .run(program)
        .named(&text(program))
        .deadline(DEADLINE)
        .args([text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(runner))])
        .env("PATH", &format!("{}:{path}", text(&bin)))
        .env("CLAUDE", &text(&bin.join("claude")))
        .env("RALPH", &text(binary))
        .env("IS_SANDBOX", "1")
        .env("CLIENTS", &text(clients))
        .env("PYTHON", &text(&clients.join("venv/bin/python")))
        .env("PYTHONDONTWRITEBYTECODE", "1")
}

fn problems(scripts: &[Script], outcome: &Outcome) -> Vec<String> {
    let verdicts: Vec<Value> = outcome.events().into_iter().filter(|line| line["ok"].is_boolean()).collect();
    let hung = if outcome.timed_out { "it hung" } else { "it gave no verdict" };
    let bad = scripts.iter().enumerate().filter(|(index, _)| verdicts.get(*index).is_none_or(|v| v["ok"] != true));
    bad.map(|(index, script)| {
        let why = verdicts.get(index).and_then(|verdict| verdict["why"].as_str()).unwrap_or(hung);
        format!("{}: {why}\nstderr: {}\n", script.names, outcome.stderr)
    })
    .collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Beside the build, so that it follows the target folder wherever that is.
pub fn clients() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_ralph"));
    binary.ancestors().nth(2).unwrap_or(binary).join("clients")
}
