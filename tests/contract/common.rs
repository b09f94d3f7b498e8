//! What the black-box suites share.
#![expect(dead_code, reason = "every suite uses its own part of this")]

use serde_json::Value;
use std::path::PathBuf;
use testkit::{Outcome, Run, World};

/// The binary under test.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// A world whose model answers with these turns, given as JSON.
pub fn world(turns: Value) -> World {
    World::empty(mock::Script::from_value(turns).expect("a script")).expect("a world")
}

/// The binary as `claude`, in this world.
pub fn claude(world: &World) -> Run {
    world.run(&binary())
}

/// Runs to the end; a run that hangs is a failure of its own.
pub fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stderr: {}", outcome.stderr);
    outcome
}
