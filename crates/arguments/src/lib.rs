//! What is typed after `ralph` and `claude`: one table of commands and two of flags. Parsing, help, suggestions,
//! completions and the manual are made from them. Pure.
//!
//! A parser of our own, because clients depend on the reference's rules in every corner: lists that
//! swallow what follows, optional values, empty values, stray empty positionals, one-line errors.
//!
//! Deliberately absent: what a flag does. The binary's `resolve` decides that, with environment and settings.

mod nearest;
mod span;
mod typed;
mod flags;
mod parse;
mod agent_commands;
mod worktree;
mod loop_table;
pub mod loop_flags;
mod goal_help;
mod table;
pub mod help;
pub mod completions;
pub mod manual;

pub use agent_commands::{AGENT_COMMANDS, AgentCommand, FirstWord, first_word};
pub use flags::{Arity, FLAGS, Flag, Standing};
pub use goal_help::GOAL_HELP;
pub use loop_table::{Kind, LOOP_OPTIONS, LoopOption, LoopOptions};
pub use nearest::nearest;
pub use parse::{UsageError, parse};
pub use span::{SpanError, span};
pub use table::{COMMANDS, Command, Options};
pub use typed::{Arguments, OptionalValue};
pub use worktree::is_worktree_name;
