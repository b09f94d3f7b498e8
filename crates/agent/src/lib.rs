//! The runtime around `turn`: executes the effects of its machines, one file for each kind of effect, and holds handles to
//! sockets, children, files and clocks. What is decided about a conversation is decided in `turn`.
//!
//! `session` is the border: commands in, events out. `front` is a front end on stdin and stdout and knows nothing else.
//!
//! Deliberately absent: argv, the environment and settings files (resolved by the binary into
//! [`Options`]), the loop around conversations (another process), and any terminal interface.

mod clock;
mod failpoint;
mod fetch;
mod ids;
mod options;
mod schema;
mod stderr;
mod words;

mod books;
mod builtin_commands;
mod choices;
mod limits;
mod secrets;
mod values;

mod link;
mod output;
mod states;

mod access;
mod checkpoints;
mod conversation;
mod conversation_tools;
mod hook_payload;
mod hook_runner;
mod kit;
mod main_machine;
mod memory;
mod mentions;
mod prompt;
mod rules;
mod servers;
mod style;
mod toolset;
mod transcripts;

mod frontmatter_hooks;
mod model_asker;
mod model_switcher;
mod settings_files;
mod small;
mod task_news;

mod commands;
mod flag_settings;
mod gatherer;
mod init;
mod permission_asker;
mod permission_updates;
mod preparer;
mod skill_texts;
mod skills;
mod subagents;
mod suggester;
mod tool_runner;

mod control;
mod driver;
mod executor;
mod session;
mod wiring;

mod front;

pub use fetch::fetch;
pub use front::{failed_start, run};
pub use options::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Preparation, Prompter, Prompting, Session, SessionPlan, Setup, StateEvents, StdinKind,
    ToolChoice, ToolSetup,
};
pub use schema::Schema;
pub use stderr::warn;
