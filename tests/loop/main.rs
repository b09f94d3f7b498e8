//! The loop against real processes: fake agents as shell scripts, and the built-in one with the mock.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod answering;
mod backends;
mod backends_stopping;
mod checked;
mod commands;
mod common;
mod fallback;
mod limits;
mod long;
mod misbehaving;
mod overnight;
mod recording;
mod schema;
mod seed000;
mod seed001;
mod seed002;
mod seed003;
mod seed004;
mod world;
