//! `ralph serve` over real HTTP: who is let in, what they get, and what survives the server's end.
//!
//! `world` starts the server in a scratch folder; `http` is a small client of our own, because a test must be able to send what no
//! proper client sends. The page itself is tried in a browser (`browser`), the published SDK by `sdk`.
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod acp;
mod browser;
mod crowd;
mod files;
mod goals;
mod guards;
mod http;
mod processes;
mod runs;
mod sdk;
mod skills;
mod slow;
mod terminal;
mod world;
