//! `ralph acp` and ACP agents in the loop, from outside: JSON-RPC on the pipes of the built binary, every line that it
//! writes held against the protocol's own JSON Schema.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]
#![expect(clippy::needless_pass_by_value, reason = "tests write their values in place")]

mod agents;
mod asking;
mod client;
mod packaging;
mod real;
mod schema;
mod sessions;
mod turns;
