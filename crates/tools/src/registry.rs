//! The tools of this crate, in one list.

use crate::context::ToolContext;
use crate::tool::{Invocation, Tool};
use crate::{Outcome, bash, edit, fence, glob, grep, notebook_edit, read, task_tools, todo, web, write};

/// Every tool of this crate, in a fixed order: the list is part of the prompt-cache key.
static TOOLS: &[&(dyn Tool + Sync)] = &[
    &read::Read,
    &edit::Edit,
    &write::Write,
    &notebook_edit::NotebookEdit,
    &glob::Glob,
    &grep::Grep,
    &todo::TodoWrite,
    &bash::Bash,
    &task_tools::TaskOutput,
    &task_tools::TaskStop,
    &web::WebFetch,
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
pub async fn run(tool: &dyn Tool, call: Invocation<'_>, context: &ToolContext) -> Outcome {
    let found = call.targets.completed(tool.spec().entry, call.input);
    let targets = found.as_ref().unwrap_or(call.targets);
    let refused = context.shell.fence().and_then(|rules| fence::refuses(rules, targets));
    match refused {
        Some(reason) => Outcome::error(reason),
        None => tool.run(call, context).await,
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
