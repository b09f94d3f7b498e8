//! What goes into a request to the model and into the environment of commands, and how connections behave.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "request/bash_env.rs"]
mod bash_env;
#[path = "request/connection.rs"]
mod connection;
#[path = "request/fallback.rs"]
mod fallback;
#[path = "request/git_state.rs"]
mod git_state;
#[path = "request/modes.rs"]
mod modes;
#[path = "request/prompt.rs"]
mod prompt;
#[path = "request/tool_search.rs"]
mod tool_search;
#[path = "request/user_shell.rs"]
mod user_shell;

use common::{claude, finish};
use mock::Recorded;
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

const STREAM: [&str; 5] = ["-p", "hi", "--output-format", "stream-json", "--verbose"];

/// What a run said, and what it asked the model.
struct Seen {
    outcome: Outcome,
    requests: Vec<Recorded>,
}

impl Seen {
    fn of(world: &World, run: Run) -> Self {
        let before = world.mock().requests().len();
        let outcome = finish(run);
        Self { outcome, requests: world.mock().requests().split_off(before) }
    }

    fn body(&self) -> &Value {
        self.requests.first().map_or(&Value::Null, |request| &request.body)
    }

    fn header(&self, name: &str) -> &str {
        self.requests.first().and_then(|request| request.headers.get(name)).map_or("", String::as_str)
    }

    fn init(&self) -> Value {
        self.outcome.events().into_iter().find(|event| event["subtype"] == "init").unwrap_or(Value::Null)
    }

    fn result(&self) -> Value {
        self.outcome.result().unwrap_or(Value::Null)
    }

    fn system(&self) -> String {
        texts(&self.body()["system"])
    }

    fn messages(&self) -> String {
        let messages = self.body()["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().map(|message| texts(&message["content"])).collect::<Vec<_>>().join("\n")
    }

    fn told(&self) -> String {
        let Outcome { code, stderr, lines, .. } = &self.outcome;
        format!("exit {code:?}\nstderr: {stderr}\nstdout: {}\nfirst request: {}", lines.join("\n"), self.body())
    }
}

fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// A world whose model has an answer to whatever it is asked.
fn plain() -> World {
    common::world(json!([]))
}

fn with(world: &World, env: &[(&str, &str)], more: &[&str]) -> Seen {
    let run = claude(world).args(STREAM.into_iter().chain(more.iter().copied()));
    Seen::of(world, env.iter().fold(run, |run, (name, value)| run.env(name, value)))
}

/// Writes a file below a folder, with what is above it.
fn write(file: &std::path::Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Settings of the user's.
fn settings(world: &World, value: &Value) {
    write(&world.home().join(".claude/settings.json"), &value.to_string());
}
