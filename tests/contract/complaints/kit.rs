//! What these tests share: turns of the model, the usual arguments, and the one result.

use crate::common::{binary, claude};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{Outcome, Run, World};

pub fn says(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub fn calls(name: &str, input: Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": name, "input": input}]})
}

pub fn bash(command: &str) -> Value {
    calls("Bash", json!({"command": command}))
}

/// Events out, one prompt as argument, stdin at its end.
pub fn stream(world: &World, prompt: &str) -> Run {
    claude(world).args(["-p", prompt, "--verbose", "--output-format", "stream-json"])
}

/// Events out, prompts in.
pub fn dialogue(world: &World) -> Run {
    let formats = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    claude(world).args(formats)
}

/// A shell script in which `$RALPH agent` is the agent: for stdins and readers of all kinds.
pub fn shell(world: &World, script: &str) -> Run {
    world.run(Path::new("/bin/sh")).env("RALPH", &binary().to_string_lossy()).args(["-c", script])
}

/// The one result of a run, which is also the last line.
pub fn only_result(outcome: &Outcome) -> Value {
    let events = outcome.events();
    let results = events.iter().filter(|event| event["type"] == "result").count();
    assert_eq!((results, events.len()), (1, outcome.lines.len()), "{:?}\n{}", outcome.lines, outcome.stderr);
    let last = events.last().cloned().unwrap_or_default();
    assert_eq!(last["type"], "result", "the result is not the last line: {:?}", outcome.lines);
    last
}

pub fn events_of(outcome: &Outcome, kind: &str, subtype: &str) -> Vec<Value> {
    let wanted = |event: &Value| event["type"] == kind && (subtype.is_empty() || event["subtype"] == subtype);
    outcome.events().into_iter().filter(wanted).collect()
}

/// What the model was given in its `nth` request, as text.
pub fn messages(world: &World, nth: usize) -> String {
    let requests = world.mock().requests();
    requests.get(nth).map(|request| request.body["messages"].to_string()).expect("the model was asked that often")
}
