//! What we promise, tried by breaking things at random: the model, the pipes, the disk, the children, the process.
//!
//! Every schedule comes from a seed, which is printed with what broke; `RALPH_FAULT_SEED` and `RALPH_FAULT_RUNS`
//! play others or more of them (docs/faults.md).
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]

mod api;
mod client;
mod cuts;
mod dice;
mod draw;
mod drive;
mod house;
mod invariants;
mod kill_loop;
mod knobs;
mod loop_faults;
mod model;
mod named;
mod plan;
mod random;
mod soak_tests;
mod spoil;
mod toolbox;

use std::path::PathBuf;

/// The binary under test.
fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}
