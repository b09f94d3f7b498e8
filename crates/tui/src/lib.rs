//! The run on a screen.
//!
//! A [`ScreenState`] is a fold over the run's events, [`view`] shows one and is pure, [`run`] puts both on a
//! terminal and turns keys into [`Command`]s; [`replay`] feeds a recording to the same screen.
//!
//! Deliberately absent: starting agents, deciding anything, reading files or the environment, and output
//! for anything but a terminal.

mod amounts;
mod terminal;
mod theme;
mod board;
mod tool;
mod feed;
mod reader;
mod wrap;
mod markdown;
pub mod replay;
mod state;
mod lines;
mod help;
mod header;
mod scroll;
mod side;
mod view;
mod keys;
mod picture;
mod screen;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod recorded_tests;

pub use board::{Board, BoardAction, Card, show_board};
use cycle::clean;
pub use keys::Command;
pub use picture::picture;
pub use screen::{Options, play, run};
pub use state::ScreenState;
pub use terminal::restore;
pub use view::view;
