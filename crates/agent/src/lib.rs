//! The runtime around `turn`: executes the effects of its machines, one file for each kind of effect, and holds handles to
//! sockets, children, files and clocks. What is decided about a conversation is decided in `turn`.
//!
//! [`session`] is the border: commands in, events out. A front end (`stdio` is one) brings a [`Writer`] and knows nothing else.
//!
//! Modules stand in the order of their use, lower ones first.
//!
//! Deliberately absent: argv, the environment and settings files (resolved by the binary into
//! [`Options`]), the loop around conversations (another process), and any terminal interface.

mod clock;
mod failpoint;
mod fetch;
mod ids;
mod schema;
mod stderr;
mod words;
mod writer;

mod options;

mod books;
mod builtin_commands;
mod checkpoints;
mod choices;
mod conversation_tools;
mod git_state;
mod known_memory;
mod secrets;
mod style;
mod toolset;
mod values;

mod limits;
mod output;
mod prompt;

mod access;
mod conversation;
mod hook_payload;
mod kit;
mod link;
mod main_machine;
mod rules;
mod states;
mod transcripts;

mod hook_runner;

mod frontmatter_hooks;
mod memory;
mod servers;
mod settings_files;
mod task_news;

mod gatherer;
mod init;
mod mentions;
mod model_asker;
mod model_switcher;
mod permission_asker;
mod permission_updates;
mod preparer;
mod skill_texts;
mod small;

mod flag_settings;
mod subagents;
mod suggester;

mod skills;

mod commands;
mod control;
mod tool_runner;

mod driver;
mod executor;

mod wiring;

pub mod session;

pub use fetch::fetch;
pub use options::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, Elsewhere, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Preparation, Prompter, Prompting, Session, SessionPlan, Setup, StateEvents, StdinKind,
    ToolChoice, ToolSetup,
};
pub use schema::Schema;
pub use stderr::{PIPE_BUF, warn};
pub use writer::Writer;
