//! The built-in tools, one file or folder each, and the one list of them.

mod bash;
mod edit;
mod glob;
mod grep;
mod monitor;
mod notebook_edit;
mod read;
mod socket_watch;
mod task_tools;
mod todo_write;
mod web_fetch;
mod write;

use crate::context::ToolContext;
use crate::tool::{Invocation, Tool};
use crate::{ToolOutcome, fence};

/// Every tool of this crate, in a fixed order: the list is part of the prompt-cache key.
static TOOLS: &[&(dyn Tool + Sync)] = &[
    &read::Read,
    &edit::Edit,
    &write::Write,
    &notebook_edit::NotebookEdit,
    &glob::Glob,
    &grep::Grep,
    &todo_write::TodoWrite,
    &bash::Bash,
    &monitor::Monitor,
    &task_tools::TaskOutput,
    &task_tools::TaskStop,
    &web_fetch::WebFetch,
];

/// Every tool of this crate.
pub fn builtin() -> impl Iterator<Item = &'static dyn Tool> {
    TOOLS.iter().map(|tool| *tool as &dyn Tool)
}

/// A tool of this crate, by its name or by one that it had before.
pub fn find(name: &str) -> Option<&'static dyn Tool> {
    builtin().find(|tool| {
        let entry = tool.spec().entry;
        entry.name == name || entry.aliases.contains(&name)
    })
}

/// Runs one call of any tool, inside the limits that the sandbox sets for this process as well.
pub async fn run(tool: &dyn Tool, call: Invocation<'_>, context: &ToolContext) -> ToolOutcome {
    let found = call.targets.completed(tool.spec().entry, call.input);
    let targets = found.as_ref().unwrap_or(call.targets);
    let refused = context.shell.fence().and_then(|rules| fence::refuses(rules, targets));
    match refused {
        Some(reason) => ToolOutcome::error(reason),
        None => tool.run(call, context).await,
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
