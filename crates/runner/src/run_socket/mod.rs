//! Runs that can be reached from outside: every run has a Unix socket while it works, and clients follow the run and steer it
//! through it. docs/run-socket.md has the protocol.
//!
//! A [`Server`] belongs to a run and has a thread of its own; a [`Client`] connects to it; a [`Follower`] reads a recording as numbered
//! events. The server reads events for each client from the recording, so a slow client holds up nobody, and numbers
//! are the same for everybody. Deliberately absent: networks, and any decision about the run.

mod address;
mod client;
mod connection;
mod follower;
mod lines;
mod protocol;
mod server;
mod status;

pub use client::{Client, Events};
pub use follower::{Follower, NumberedEvent};
pub use protocol::{Failure, FailureKind, Hello, PROTOCOL, Request};
pub use server::Server;
pub use status::{RunState, Status};

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("run {0} is not at work; 'ralph runs' tells what is")]
    NotAtWork(String),
    #[error("{} cannot be used: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}", .0.message)]
    Failed(Failure),
    #[error("run {run} did not answer within {seconds} s; it may be stopped (Ctrl-Z) or overloaded")]
    Silent { run: String, seconds: u64 },
    #[error("the connection to run {0} was cut; was the run killed?")]
    Cut(String),
    #[error("run {run} sent what is no line of the protocol: {what}")]
    Garbled { run: String, what: String },
}
