//! What the agent can do: one file a tool, its schema beside its code.
//!
//! A tool gets its input, the paths that were judged, and a [`Ctx`]; it returns an [`Outcome`] with a
//! text for the model and a structured twin for clients. Deliberately absent: whether a call may run
//! (`policy`), what a turn is (`agent`), and any knowledge of settings files.
//!
//! Dropping the future of a running tool cancels it and kills what it started.

mod bash;
mod bash_command;
mod bash_output;
mod bash_result;
mod bash_run;
mod bash_script;
mod ctx;
mod disk;
mod dispatch;
mod edit;
mod existing;
mod exits;
mod fence;
mod file_error;
mod glob;
mod grep;
mod grep_report;
mod grep_search;
mod input;
mod notebook;
mod notebook_edit;
mod outcome;
mod patch;
mod read;
mod read_image;
mod read_log;
mod read_notebook;
mod read_pdf;
mod read_text;
mod repository;
mod stamp;
mod tasks;
mod tasks_tools;
#[cfg(test)]
mod testing;
mod text;
mod todo;
mod walk;
mod web_address;
mod web_fetch;
mod web_get;
mod web_html;
mod web_tokens;
mod worker;
mod workspace;
mod workspace_io;
mod workspace_write;
mod write;

pub use bash::Shell;
pub use bash_script::find_shell;
pub use ctx::{Ctx, Denied, Invocation, Limits};
pub use disk::Disk;
pub use dispatch::{check_input, run, spec, specs, targets};
pub use exits::{Exits, Leaves, OnRequest};
pub use input::check_against;
pub use outcome::{Content, ErrorFlag, Outcome};
pub use read_log::{Range, ReadLog, Seen};
pub use stamp::Stamp;
pub use tasks::{Ending, NewTask, Running, Status, TaskError, TaskEvent, TaskInfo, Tasks};
pub use todo::Todos;
pub use web_fetch::{AskSmall, MakeClient, Web};
pub use workspace::{PathError, Target, Workspace, real_path};

/// What a tool tells the model about itself. The schema is JSON text, byte-stable for prompt caching.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: &'static str,
    /// Calls of one message that are all read-only run at the same time.
    pub read_only: bool,
}
