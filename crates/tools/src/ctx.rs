//! What a tool gets besides its input.

use crate::bash::Shell;
use crate::read_log::ReadLog;
use crate::tasks::Tasks;
use crate::todo::Todos;
use crate::web_fetch::Web;
use crate::workspace::{Target, Workspace};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Files that Read-deny rules hide: Glob and Grep neither list nor print them.
pub type Denied = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// One conversation's tools. Sub-agents get their own, so that they do not vouch for each other's reads.
pub struct Ctx {
    pub workspace: Arc<Workspace>,
    pub reads: ReadLog,
    pub todos: Todos,
    pub limits: Limits,
    /// Older models must have read a file before they change it; newer ones need not.
    pub must_read_first: bool,
    pub denied: Denied,
    pub shell: Shell,
    pub tasks: Tasks,
    pub web: Web,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub read_max_tokens: usize,
    pub glob_hidden: bool,
    pub glob_no_ignore: bool,
    pub glob_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { read_max_tokens: 25_000, glob_hidden: true, glob_no_ignore: true, glob_timeout: Duration::from_secs(20) }
    }
}

/// One call: what the model sent, and the paths in it as they were judged.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub tool_use_id: &'a str,
    pub name: &'a str,
    pub input: &'a Value,
    pub targets: &'a [Target],
    /// Of a shell command: the text that was judged, to run in place of the one in the input.
    pub run: Option<&'a str>,
}

/// The part of [`Ctx`] that file tools take with them to a worker thread.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) reads: ReadLog,
    pub(crate) limits: Limits,
    pub(crate) must_read_first: bool,
    pub(crate) denied: Denied,
}

impl Ctx {
    pub(crate) fn files(&self) -> Files {
        Files {
            workspace: Arc::clone(&self.workspace),
            reads: self.reads.clone(),
            limits: self.limits,
            must_read_first: self.must_read_first,
            denied: Arc::clone(&self.denied),
        }
    }
}
