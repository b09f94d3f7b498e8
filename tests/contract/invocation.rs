//! What was typed, in every form that clients type it, and what of it reaches the model's API.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "invocation/context.rs"]
mod context;
#[path = "invocation/endpoint.rs"]
mod endpoint;
#[path = "invocation/flags.rs"]
mod flags;
#[path = "invocation/forms.rs"]
mod forms;
use common::loopback;
#[path = "invocation/permissions.rs"]
mod permissions;
#[path = "invocation/refusals.rs"]
mod refusals;
#[path = "invocation/tooling.rs"]
mod tooling;

use common::{claude, finish};
use mock::Recorded;
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

/// How most clients call: the prompt first, events out.
const STREAM: [&str; 5] = ["-p", "hi", "--output-format", "stream-json", "--verbose"];

/// What a run did: what it said, and what it asked the model.
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

    /// The body of the first request; null if none was made.
    fn body(&self) -> &Value {
        self.requests.first().map_or(&Value::Null, |request| &request.body)
    }

    fn header(&self, name: &str) -> &str {
        self.requests.first().and_then(|request| request.headers.get(name)).map_or("", String::as_str)
    }

    fn event(&self, subtype: &str) -> Value {
        let found = self.outcome.events().into_iter().find(|event| event["subtype"] == subtype);
        found.unwrap_or(Value::Null)
    }

    fn init(&self) -> Value {
        self.event("init")
    }

    /// All system text of the first request.
    fn system(&self) -> String {
        texts(&self.body()["system"])
    }

    /// All text of the first request's messages.
    fn messages(&self) -> String {
        let messages = self.body()["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().map(|message| texts(&message["content"])).collect::<Vec<_>>().join("\n")
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.body()["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    fn told(&self) -> String {
        let Outcome { code, stderr, lines, .. } = &self.outcome;
        format!("exit {code:?}\nstderr: {stderr}\nstdout: {}\nfirst request: {}", lines.join("\n"), self.body())
    }

    /// It answered, and had nothing to complain about.
    fn is_clean(&self) -> bool {
        self.outcome.code == Some(0) && self.outcome.stderr.is_empty() && !self.requests.is_empty()
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

fn ask<S: Into<String>>(world: &World, args: impl IntoIterator<Item = S>) -> Seen {
    Seen::of(world, claude(world).args(args))
}

/// A run in the usual form, with these words after it.
fn stream(world: &World, more: &[&str]) -> Seen {
    ask(world, STREAM.into_iter().chain(more.iter().copied()))
}
