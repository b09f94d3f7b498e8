//! Hooks: commands, web addresses and callbacks of the client that are asked, or told, at fixed moments.
//!
//! [`Hooks`] is the list, [`fire`] runs what matches and merges the answers into one [`Verdict`]. Which
//! moments those are, and what a verdict means for a call or a turn, is the caller's business: it also
//! bounds how often a Stop hook may block. Reading an answer (`answer`, `speech`) and merging (`verdict`)
//! are pure; processes, requests and files are touched in `command`, `http` and `spill` only.
//!
//! A model's opinion and a server's tool come through [`Helpers`].
//!
//! Deliberately absent: which settings files count (`config` has settled that).

mod answer;
mod background;
mod command;
mod condition;
mod event;
mod fire;
mod handler;
mod http;
mod list;
mod matcher;
mod opinion;
mod speech;
mod spill;
mod verdict;
mod world;

pub use event::HookEvent;
pub use fire::fire;
pub use handler::Judge;
pub use list::Hooks;
pub use verdict::{Decision, Verdict};
pub use world::{Callbacks, Helpers, HookNews, Question, Scene, World};

#[cfg(test)]
mod tests;
