//! The loop against real processes: fake agents as shell scripts, and the built-in one with the mock.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod backends;
mod backends_stopping;
mod checked;
mod commands;
mod common;
mod limits;
mod misbehaving;
mod seed001;
mod stopping;
mod talking;
mod world;
