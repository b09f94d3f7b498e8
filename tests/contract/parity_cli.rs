//! The command line, the settings and the policies as clients of the reference know them.

mod asked;
mod bundled;
mod commands;
mod flags;
mod local_rules;
mod monitor;
mod plugins;
mod policies;
mod retention;
mod schedule;
mod server_logins;
mod serving;
mod slow_servers;
mod worktree;

use crate::common::{self, claude, finish};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

/// A world whose model has an answer to whatever it is asked.
fn plain() -> World {
    common::world(json!([]))
}

fn run(world: &World, words: &[&str]) -> Outcome {
    finish(claude(world).args(words.iter().copied()))
}

/// A refusal: one line on stderr, nothing on stdout, exit 1, and no model was asked.
fn refused(world: &World, run: Run, part: &str) {
    let before = world.mock().requests().len();
    let outcome = finish(run);
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{part}: {outcome:?}");
    assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{part}: {}", outcome.stderr);
    assert_eq!(world.mock().requests().len(), before, "{part}: the model was asked");
}

/// A file below the user's home.
fn own(world: &World, name: &str, value: &Value) -> PathBuf {
    write(world.home().join(name), &value.to_string())
}

/// A file below the working folder.
fn here(world: &World, name: &str, text: &str) -> PathBuf {
    write(world.wd().join(name), text)
}

fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path
}

/// A run with these settings of the administrator.
fn managed(world: &World, policy: &Value) -> Run {
    let folder = world.home().join("managed");
    write(folder.join("managed-settings.json"), &policy.to_string());
    claude(world).env("RALPH_TEST_MANAGED_DIR", &folder.display().to_string())
}
