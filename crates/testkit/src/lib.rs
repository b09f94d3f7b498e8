//! Helpers for black-box tests: a small world to run a binary in, and the recorded conversations to hold it to.
//!
//! Dev-only. A test gets a [`World`] (temporary home, git repository, mock API), starts a binary in it as
//! [`Run`] with scripted stdin, and looks at the [`Outcome`]; or it sits down at a [`Terminal`], presses keys
//! and looks at the [`Screen`]. Everything ends by a deadline, with whatever the binary started.
//! Deliberately absent: assertions, and any knowledge of what the binary does; only
//! [`looping`] knows a loop when it sees one.

pub mod matching;
pub mod otlp;
mod collector;
mod pipes;
pub mod postgres;
mod signals;
mod run;
mod service;
mod terminal;
mod world;
pub mod captures;
pub mod looping;

pub use collector::{Batch, Collector, Manner};
pub use run::{Outcome, Run, RunError, Step};
pub use service::Service;
pub use signals::reset_ignored_signals;
pub use terminal::{Left, Screen, Terminal, TerminalError};
pub use world::{World, WorldError};
