//! What went wrong for agents and loops elsewhere, and must not go wrong here. One file a root cause.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

#[path = "loop.rs"]
mod loop_cases;
