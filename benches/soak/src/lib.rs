//! Long and wide runs, with an eye on memory: many agents idle at once, many turns in one conversation, a night of
//! the loop. The command is `ralph-soak`; the tests run small versions of the same.
//!
//! Deliberately absent: speed (`benches/speed`) and faults (`tests/faults`).

mod agent;
mod idle;
mod memory;
mod model;
mod night;
pub mod plot;
mod turns;

pub use idle::{Idle, idle};
pub use night::{Night, night};
pub use turns::{Turns, turns};

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SoakError {
    #[error("{what} failed: {source}")]
    Io { what: &'static str, source: std::io::Error },
    #[error("{} cannot be started: {source}; build it first, or name it with --ours", binary.display())]
    Start { binary: PathBuf, source: std::io::Error },
    #[error("agent {number} left before its result; its last line was: {last}")]
    Left { number: usize, last: String },
    #[error("turn {turn} ended badly: {line}")]
    Failed { turn: usize, line: String },
}

impl SoakError {
    fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// One look at the memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Agents that run, or turns that are over.
    pub at: usize,
    pub mib: f64,
}
