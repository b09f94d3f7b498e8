//! Hooks: commands, web addresses, models and callbacks of the client that are asked, or told, when something happens.
//!
//! [`Hooks`] is the list as configured, [`HookPayload`] what an event tells, and [`fire_hook`] runs what matches and
//! merges the answers into one [`HookAnswer`]. What an answer means for a call or a turn is the caller's business: it
//! also bounds how often a Stop hook may block. Reading an answer (`answer`, `speech`) and merging (`hook_answer`) are
//! pure; processes, requests and files are touched in `command`, `http`, `spill` and `file_watch` only. What a hook
//! needs of the conversation comes in as [`HookContext`] and [`HookHost`].
//!
//! Deliberately absent: which settings files count (`config` has settled that), and the conversation itself.

pub mod file_watch;
mod error;
mod hook_answer;
mod matcher;
mod spill;
mod event;
mod property;
mod speech;
mod handler;
mod host;
mod background;
mod condition;
mod opinion;
mod answer;
mod command;
mod http;
mod list;
pub mod frontmatter_hooks;
mod fire_hook;

pub use error::{AskError, HostError};
pub use event::*;
pub use fire_hook::fire_hook;
pub use handler::Judge;
pub use hook_answer::{Decision, HookAnswer};
pub use host::{Callbacks, Helpers, HookContext, HookHost, HookRun, Question};
pub use list::Hooks;

#[cfg(test)]
mod tests;
