//! The context of a tool call: workspace, limits, handles.

use crate::read_log::ReadLog;
use crate::shell::Shell;
use crate::tasks::Tasks;
use crate::todos::Todos;
use crate::workspace::Workspace;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use web::Web;

/// Files that Read-deny rules hide: Glob and Grep neither list nor print them.
pub type Denied = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// One conversation's tools. Sub-agents get their own, so that they do not vouch for each other's reads.
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    pub reads: ReadLog,
    pub todos: Todos,
    pub limits: ToolLimits,
    /// Older models must have read a file before they change it; newer ones need not.
    pub must_read_first: bool,
    pub denied: Denied,
    pub shell: Shell,
    pub tasks: Tasks,
    pub web: Web,
}

#[derive(Debug, Clone, Copy)]
pub struct ToolLimits {
    pub read_max_tokens: usize,
    pub glob_hidden: bool,
    pub glob_no_ignore: bool,
    pub glob_timeout: Duration,
}

/// The rough size of a token that the API's prices are about.
const BYTES_PER_TOKEN: usize = 4;

impl ToolLimits {
    pub(crate) fn read_max_bytes(&self) -> usize {
        self.read_max_tokens.saturating_mul(BYTES_PER_TOKEN)
    }
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self { read_max_tokens: 25_000, glob_hidden: true, glob_no_ignore: true, glob_timeout: Duration::from_secs(20) }
    }
}

/// The part of [`ToolContext`] that file tools take with them to a worker thread.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) reads: ReadLog,
    pub(crate) limits: ToolLimits,
    pub(crate) must_read_first: bool,
    pub(crate) denied: Denied,
}

impl ToolContext {
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
