//! The real screen: the built binary in a terminal, driven by keys and read as a person reads it.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod hostile;
mod plain;
mod reading;
mod running;
mod terminal;
mod world;
