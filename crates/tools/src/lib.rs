//! What the agent can do: the [`Tool`] trait and the built-in tools, one file or folder each, schema beside code.
//!
//! A tool gets its input, the targets that were judged, and a [`ToolContext`]; it returns an [`Outcome`] with a
//! text for the model and a structured twin for clients. Deliberately absent: whether a call may run
//! (`policy`), what a turn is (`turn`), and any knowledge of settings files.
//!
//! Modules stand in the order of their use, lower ones first.

mod outcome;

mod stamp;

mod text;

mod workspace;

mod file_error;

mod disk;

mod schema;

mod worker;

mod walk;

mod read_log;

mod tasks;

mod shell;

mod context;

mod tool;

mod fence;

mod patch;

mod notebook;

mod existing;

// The tools.
mod bash;
mod edit;
mod glob;
mod grep;
mod notebook_edit;
mod read;
mod task_tools;
mod todo;
mod web;
mod write;

mod registry;

#[cfg(test)]
mod testing;

pub use context::{Denied, Limits, ToolContext};
pub use disk::Disk;
pub use outcome::{Content, ErrorFlag, Outcome};
pub use read_log::{Range, ReadLog, Seen};
pub use registry::{builtin, find, run};
pub use schema::InputError;
pub use shell::{Exits, Leaves, OnRequest, Shell, find_shell};
pub use stamp::Stamp;
pub use tasks::{Ending, NewTask, Running, Status, TaskError, TaskEvent, TaskInfo, Tasks};
pub use todo::Todos;
pub use tool::{InputSchema, Invocation, Tool, ToolFuture, ToolSpec};
pub use web::{AskSmall, MakeClient, Web};
pub use workspace::{PathError, Target, Workspace, real_path};
