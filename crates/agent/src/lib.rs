//! One conversation with a model: the turn machine, permission flow, sub-agents, structured output,
//! compaction, and the front that reads stdin and is the only writer of stdout.
//!
//! Deliberately absent: argv, the environment and settings files (resolved by the binary into
//! [`Options`]), the loop around conversations (another process), and any terminal interface.

mod access;
mod after;
mod ask;
mod calls;
mod cancel;
mod checkpoints;
mod clock;
mod compact;
mod control;
mod conversation;
mod emit;
mod failpoint;
mod fetch;
mod file_watch;
mod front;
mod frontmatter_hooks;
mod hearing;
mod helpers;
mod ids;
mod judge;
mod ledger;
mod memory;
mod mentions;
mod moments;
mod options;
mod outside;
mod own;
mod permit;
mod planning;
mod prompt;
mod result;
pub mod runtime;
mod schema;
mod secrets;
mod shared;
mod small;
mod state;
mod style;
mod toolset;
mod turn;
mod words;

pub use fetch::fetch;
pub use front::{failed_start, run, warn};
pub use options::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Preparation, Prompter, Prompting, Session, SessionPlan, Setup, StateEvents, StdinKind,
    ToolChoice, ToolSetup,
};
pub use schema::Schema;
