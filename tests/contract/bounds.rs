#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]
mod common;
