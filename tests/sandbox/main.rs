//! The sandbox, tried: every way out works without it (the control run shows so) and fails with it;
//! ordinary work succeeds. Drives `proc` with real commands; how agents and loops come to use it is
//! tested where they are (`tests/contract`, `tests/loop`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a part of this program runs as its own attempt")]

mod bubblewrap;
mod files;
mod network;
mod outliving;
mod processes;
mod protected;
mod relay;
mod temporary;
mod work;
mod world;
