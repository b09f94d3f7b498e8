//! The agent's tools: the [`Tool`] trait and the built-in tools, one file or folder each, schema beside code.
//!
//! A tool gets its input, the targets that were judged, and a [`ToolContext`]; it returns an [`ToolOutcome`] with a
//! text for the model and a structured twin for clients. Deliberately absent: whether a call may run
//! (`policy`), what a turn is (`turn`), and any knowledge of settings files.
//!
//! Modules stand in the order of their use, lower ones first.

// Values.
pub mod bounded;
mod notebook;
mod outcome;
mod patch;
mod stamp;
mod text;
mod todos;

// Files, background work, commands and pages.
mod workspace;

mod checkpoints;
mod disk;
mod file_error;
mod read_log;
mod schema;
mod tasks;
mod worker;

mod shell;
mod walk;

// What every tool is made of.
mod context;

mod existing;
mod fence;
mod tool;

mod builtin;

#[cfg(test)]
mod testing;

pub use builtin::{builtin, find, run};
pub use checkpoints::{Checkpoints, RestoreError, RewindError, rewind};
pub use context::{Denied, ToolContext, ToolLimits};
pub use disk::Disk;
pub use outcome::{Content, ErrorFlag, ToolOutcome, TurnEffects};
pub use read_log::{Range, ReadLog, Seen};
pub use schema::InputError;
pub use shell::{Exits, OnRequest, Shell, UnconfinedReason, UserShell, find_shell};
pub use stamp::Stamp;
pub use tasks::{Awaited, Ending, NewTask, Running, Status, TaskError, TaskEvent, TaskInfo, Tasks};
pub use todos::Todos;
pub use tool::{InputSchema, Invocation, Tool, ToolFuture, ToolSpec};
pub use walk::builder as walk;
pub use web::{AskSmall, MakeClient, Web, WebError};
pub use workspace::{PathError, Target, Workspace, real_path};
