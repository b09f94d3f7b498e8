//! Hooks as a project and a client meet them: every event that happens without a screen, with what it is told
//! and what its answer does.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

#[path = "hooks/agents.rs"]
mod agents;
mod common;
#[path = "hooks/deferring.rs"]
mod deferring;
#[path = "hooks/kinds.rs"]
mod kinds;
#[path = "hooks/models.rs"]
mod models;
#[path = "hooks/prompts.rs"]
mod prompts;
#[path = "hooks/servers.rs"]
mod servers;
#[path = "hooks/settings.rs"]
mod settings;
#[path = "hooks/shown.rs"]
mod shown;
#[path = "hooks/skills.rs"]
mod skills;
#[path = "hooks/starting.rs"]
mod starting;
#[path = "hooks/surroundings.rs"]
mod surroundings;
#[path = "hooks/tools.rs"]
mod tools;
#[path = "hooks/turns.rs"]
mod turns;

use common::claude;
use serde_json::{Value, json};
use testkit::{Run, World};

/// Writes what it is told to a file of this name, one line an event.
fn notes(file: &str) -> Value {
    json!({"type": "command", "command": format!("cat >> \"$CLAUDE_PROJECT_DIR\"/{file}")})
}

/// Settings in which these handlers hear of one event.
fn on(event: &str, handlers: &Value) -> Value {
    json!({"hooks": {event: [{"hooks": handlers}]}})
}

/// One prompt on the command line, events on stdout, and these settings.
fn run(world: &World, settings: &Value, prompt: &str) -> Run {
    claude(world)
        .args(["-p", prompt, "--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions"])
        .args(["--settings", &settings.to_string()])
        .close()
}

/// Prompts as lines, and these settings.
fn duplex(world: &World, settings: &Value) -> Run {
    claude(world)
        .args(["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"])
        .args(["--settings", &settings.to_string()])
}

/// What hooks wrote down, in order.
fn heard(world: &World, file: &str) -> Vec<Value> {
    let text = world.read(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The one event that was written down.
fn only(world: &World, file: &str) -> Value {
    let mut all = heard(world, file);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// All that was said to the model in one of its requests that offered tools.
fn said(world: &World, request: usize) -> String {
    let requests: Vec<_> = world.mock().requests().into_iter().filter(mock::Recorded::has_tools).collect();
    requests[request].body["messages"].to_string()
}

fn asked(world: &World) -> usize {
    world.mock().requests().into_iter().filter(mock::Recorded::has_tools).count()
}

fn control(id: &str, request: &Value) -> Value {
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// The client answers the last question.
fn answer(response: &Value) -> Value {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ", "response": response}})
}
