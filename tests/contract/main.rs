//! What clients see: the built binary against a scripted API, in a world of its own.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod captures;

use std::path::PathBuf;

/// The binary under test.
fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}
