//! Starting a script with an installed client, and reading its verdict.

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use testkit::World;

/// A scenario: the language of its client, its file and its function.
#[derive(Clone, Copy)]
pub struct Script {
    language: Language,
    names: &'static str,
}

#[derive(Clone, Copy)]
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
pub fn both(scripts: &[Script]) {
    let clients = clients();
    if !clients.join("stamp").exists() {
        // Not the macro: the test harness would swallow the line.
        let _ = writeln!(std::io::stderr(), "SKIPPED: clients not installed, run tests/clients/install");
        return;
    }
    let problems: Vec<String> = scripts.iter().filter_map(|script| problem(*script, &clients)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn problem(script: Script, clients: &Path) -> Option<String> {
    let world = World::empty(mock::Script::default()).expect("a world");
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_ralph"));
    let bin = world.home().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let claude = bin.join("claude");
    std::os::unix::fs::symlink(&binary, &claude).expect("a link");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
    let python = clients.join("venv/bin/python");
    let (program, runner) = match script.language {
        Language::Python => (python.clone(), here.join("py/run.py")),
        Language::JavaScript => (clients.join("node/node"), here.join("js/run.mjs")),
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let outcome = world
        .run(&program)
        .named(&text(&program))
        .args([text(&runner)])
        .args(script.names.split(' '))
        .env("PATH", &format!("{}:{path}", text(&bin)))
        .env("CLAUDE", &text(&claude))
        .env("RALPH", &text(&binary))
        .env("CLIENTS", &text(clients))
        .env("PYTHON", &text(&python))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .finish()
        .expect("a run");
    let verdict = outcome.events().pop().unwrap_or_default();
    if verdict["ok"] == true {
        return None;
    }
    let why = verdict["why"].as_str().map_or_else(|| format!("{:?} {:?}", outcome.code, outcome.lines), str::to_owned);
    let hung = if outcome.timed_out { " (it hung)" } else { "" };
    Some(format!("{}{hung}: {why}\nstderr: {}\n", script.names, outcome.stderr))
}

/// Beside the build, so that it follows the target folder wherever that is.
fn clients() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_ralph"));
    binary.ancestors().nth(2).unwrap_or(binary).join("clients")
}

/// The value a client would look for, or null.
pub fn find<'a>(events: &'a [Value], fits: impl Fn(&Value) -> bool) -> &'a Value {
    events.iter().find(|event| fits(event)).unwrap_or(&Value::Null)
}
