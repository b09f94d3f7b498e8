//! What clients see: the built binary against recorded conversations.
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod captures;
mod common;
mod parity_cli;

use common::binary;
