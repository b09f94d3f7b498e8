//! The runtime around `turn`: executes the effects of its machines, one file for each kind of effect, and holds handles to
//! sockets, children, files and clocks. What is decided about a conversation is decided in `turn`.
//!
//! [`session`] is the border: commands in, events out. A front end (`stdio` is one) brings a [`Writer`] and knows nothing else.
//!
//! Modules stand in the order of their use, lower ones first.
//!
//! Deliberately absent: argv, the environment and settings files (resolved by the binary into
//! [`Options`]), the loop around conversations (another process), and any terminal interface.

mod git_state;
mod checkouts;
mod elicitation;
mod rewind;
mod servers;

mod gatherer;
mod init;
mod model_asker;
mod permission_asker;
mod preparer;
mod skill_texts;
mod small;

mod subagents;
mod suggester;

mod skills;
mod worktrees;

mod commands;
mod control;
mod tool_runner;

mod driver;
mod executor;

mod direct_calls;

mod wiring;

pub mod session;

pub use checkouts::{Checkout, CheckoutError, Existing, check_out};
pub use options::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, Elsewhere, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Preparation, Prompter, Prompting, Schema, Session, SessionPlan, Setup, StateEvents,
    StdinKind, ToolChoice, ToolSearch, ToolSetup,
};
pub use output::{PIPE_BUF, Writer, warn};
pub use rewind::rewind_files;
