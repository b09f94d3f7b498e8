//! The loop against real processes: fake agents as shell scripts, and the built-in one with the mock.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod answering;
mod checked;
mod commands;
mod common;
mod limits;
mod long;
mod misbehaving;
mod recording;
mod schema;
mod seed_000;
mod seed_002;
mod seed_003;
mod seed_004;
mod world;
