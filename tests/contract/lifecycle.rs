//! One process from its start to its end: signals, pipes, turns and sessions, as clients of the agent see them.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

#[path = "lifecycle/asked.rs"]
mod asked;
mod common;
#[path = "lifecycle/compared.rs"]
mod compared;
#[path = "lifecycle/pipes.rs"]
mod pipes;
#[path = "lifecycle/seed.rs"]
mod seed;
#[path = "lifecycle/sessions.rs"]
mod sessions;
#[path = "lifecycle/signals.rs"]
mod signals;
#[path = "lifecycle/client_setup.rs"]
mod client_setup;
#[path = "lifecycle/transcripts.rs"]
mod transcripts;
#[path = "lifecycle/turns.rs"]
mod turns;
#[path = "lifecycle/written.rs"]
mod written;

use common::{binary, claude};
use serde_json::Value;
use std::path::PathBuf;
use testkit::{Run, World};

/// Prompts as arguments, events as lines.
const STREAM: [&str; 4] = ["-p", "--verbose", "--output-format", "stream-json"];

/// Prompts and events as lines.
const DUPLEX: [&str; 6] = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];

/// A run that reads one prompt from its arguments and streams events.
fn streaming(world: &World, prompt: &str) -> Run {
    claude(world).args(STREAM).args([prompt, "--dangerously-skip-permissions"])
}

/// A run that takes prompts as lines.
fn duplex(world: &World) -> Run {
    claude(world).args(DUPLEX).args(["--dangerously-skip-permissions"])
}

/// A shell in this world that finds the binary as `claude` on its PATH.
fn shell(world: &World, script: &str) -> Run {
    let folder = world.home().with_file_name("bin");
    if std::fs::create_dir(&folder).is_ok() {
        std::os::unix::fs::symlink(binary(), folder.join("claude")).unwrap();
    }
    let path = format!("export PATH={}:$PATH\n", folder.display());
    world.run(std::path::Path::new("/bin/sh")).named("sh").args(["-c", &format!("{path}{script}")])
}

/// Where a session's transcript is, wherever the project's folder is.
fn transcript_path(world: &World, id: &str) -> Option<PathBuf> {
    let projects = world.home().join(".claude/projects");
    let folders = std::fs::read_dir(projects).into_iter().flatten().filter_map(Result::ok);
    folders.map(|folder| folder.path().join(format!("{id}.jsonl"))).find(|path| path.is_file())
}

/// Every line of a session's transcript; a line that is no JSON fails the test.
fn transcript(world: &World, id: &str) -> Vec<Value> {
    let path = transcript_path(world, id).expect("a transcript");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The text of a request's messages, for looking something up in it.
fn said_to_model(world: &World, request: usize) -> String {
    world.mock().requests()[request].body["messages"].to_string()
}
