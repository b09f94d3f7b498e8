//! Runs that are reached from outside: the socket of a run, the commands that use it, runs that outlive who started them, and
//! reports of runs.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod attacks;
mod commands;
mod detached;
mod reports;
mod socket;
mod world;
