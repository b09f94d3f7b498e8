//! The sandbox, tried: every way out works without it (the control run shows so) and fails with it;
//! ordinary work succeeds. Drives `proc` with real commands; how agents and loops come to use it is
//! tested where they are (`tests/contract`, `tests/loop`).
#![cfg(target_os = "linux")]

mod bubblewrap;
mod files;
mod network;
mod processes;
mod protected;
mod work;
mod world;
