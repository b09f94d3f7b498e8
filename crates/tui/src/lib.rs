//! The run on a screen.
//!
//! A [`State`] is a fold over the run's events, [`view`] shows one and is pure, [`run`] puts both on a
//! terminal and turns keys into [`Command`]s; [`replay`] feeds a recording to the same screen.
//!
//! Deliberately absent: starting agents, deciding anything, reading files or the environment, and output
//! for anything but a terminal.

mod amounts;
mod board;
mod feed;
#[cfg(test)]
mod fixture;
mod header;
mod help;
#[cfg(test)]
mod hostile_tests;
mod keys;
mod lines;
mod markdown;
mod picture;
mod reader;
#[cfg(test)]
mod recorded_tests;
pub mod replay;
mod screen;
mod scroll;
mod side;
mod state;
mod terminal;
mod theme;
mod tool;
mod view;
mod wrap;

pub use board::{Board, BoardAction, Card, show_board};
use cycle::clean;
pub use keys::Command;
pub use picture::picture;
pub use screen::{Options, play, run};
pub use state::State;
pub use terminal::restore;
pub use view::view;
