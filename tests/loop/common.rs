//! The binary under test, and how a run of it is finished.

use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// An empty repository whose model answers with these turns.
pub fn world(turns: Value) -> World {
    World::empty(mock::Script::from_value(turns).expect("a script")).expect("a world")
}

/// Runs to the end; a run that hangs is a failure of its own.
pub fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stderr: {}", outcome.stderr);
    assert_eq!(outcome.unmet, Vec::<Value>::new(), "it never said this; stdout: {:#?}", outcome.lines);
    outcome
}

/// Ctrl-C, and again: no person is as fast as two signals that become one.
pub fn twice(run: Run) -> Run {
    const INT: i32 = 2;
    run.signal(INT).step(testkit::Step::Sleep(std::time::Duration::from_millis(200))).signal(INT)
}

/// A turn of the model: it says this and is done.
pub fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
