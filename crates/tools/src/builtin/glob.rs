//! Glob: files by the pattern of their path.

use crate::context::{Files, ToolContext};
use crate::schema::InputError;
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use crate::worker::{self, Stop};
use crate::workspace::open::OpenFolder;
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, walk};
use globset::{GlobBuilder, GlobMatcher};
use policy::{Targets, names};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::GLOB,
    "Finds files by name: `**/*.rs`, `src/**/*.{ts,tsx}`, `*.md` (a pattern without a slash matches in every \
        folder). Paths come relative to the working folder, oldest change first, at most 100.\n\
        Use Grep to search what is inside files.",
    r#"{"type":"object","properties":{"pattern":{"type":"string","description":"The glob pattern, relative to path"},"path":{"type":"string","description":"The folder to search; the working folder unless given"}},"required":["pattern"],"additionalProperties":false}"#,
);

/// More names than this are no answer; the model narrows the pattern.
const MAX_RESULTS: usize = 100;

pub(crate) struct Glob;

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        Ok(Targets::paths(vec![search_root(input, workspace)?.0]))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let (_, pattern) = search_root(call.input, &context.workspace)?;
    let target = call.only_path()?;
    let files = context.files();
    let work = move |stop: &Stop| search(&files, &target, &pattern, stop).unwrap_or_else(|refusal| refusal);
    Ok(worker::run(SPEC.entry.name, context.limits.glob_timeout, work).await)
}

/// Where a call searches, and for what below there. A pattern that is absolute or climbs up moves the
/// root, so that what is judged is where the search really begins.
fn search_root(input: &Value, workspace: &Workspace) -> Result<(Target, String), InputError> {
    let tool = SPEC.entry.name;
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let pattern = text("pattern").ok_or(InputError::Missing { tool, field: "pattern" })?;
    if pattern.is_empty() || pattern.contains('\0') {
        return Err(InputError::Tool("Glob: `pattern` must not be empty or contain a NUL byte.".into()));
    }
    let (above, below) = split_literal(pattern);
    let below_climbs = below.split('/').any(|part| part == "..");
    if below_climbs || below.is_empty() {
        let why = "is no pattern of files below a folder; `..` may only stand in front.";
        return Err(InputError::Tool(format!("Glob: {pattern:?} {why}")));
    }
    let path = text("path").unwrap_or(".");
    let root = if above.starts_with('/') || above.starts_with('~') {
        above.to_owned()
    } else if above.is_empty() {
        path.to_owned()
    } else {
        format!("{path}/{above}")
    };
    let root = workspace.resolve(&root).map_err(|cause| InputError::Path { tool, cause })?;
    let anchored = if above.is_empty() { below.to_owned() } else { format!("/{below}") };
    Ok((root, anchored))
}

/// The leading folders of a pattern that is absolute or begins with `.`, `..` or `~`, and the rest.
fn split_literal(pattern: &str) -> (&str, &str) {
    let moves_root = pattern.starts_with('/')
        || pattern.starts_with("~/")
        || pattern.split('/').next().is_some_and(|part| part == "." || part == "..");
    if !moves_root {
        return ("", pattern);
    }
    let magic = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    match pattern[..magic].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(slash) => (&pattern[..slash], &pattern[slash + 1..]),
        None => ("", pattern),
    }
}

/// As in ignore files: a pattern with a slash counts from the root, one without matches in every folder.
fn matcher(pattern: &str) -> Result<GlobMatcher, ToolOutcome> {
    let anchored = pattern.contains('/');
    let full = if anchored { pattern.trim_start_matches('/').to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&full).literal_separator(true).backslash_escape(true).build();
    let wrong = |error: globset::Error| ToolOutcome::misuse(format!("Glob: the pattern is wrong: {}.", error.kind()));
    glob.map(|glob| glob.compile_matcher()).map_err(wrong)
}

fn search(files: &Files, root: &Target, pattern: &str, stop: &Stop) -> Result<ToolOutcome, ToolOutcome> {
    let started = Instant::now();
    let matcher = matcher(pattern)?;
    let folder = OpenFolder::open(&root.real)
        .map_err(|_| ToolOutcome::misuse(format!("Directory does not exist: {}.", root.shown())))?;
    let mut walk = walk::builder(&root.real, &files.workspace.real_cwd());
    walk.hidden(!files.limits.glob_hidden);
    if files.limits.glob_no_ignore {
        walk.ignore(false).git_ignore(false).git_exclude(false).parents(false);
    }
    let harvest = walk::collect(&walk, Some(&folder), stop, |path: &Path| {
        path.strip_prefix(&root.real).is_ok_and(|below| matcher.is_match(below)) && !(files.denied)(path)
    });
    let mut found = harvest.files;
    found.sort_unstable_by(walk::Found::oldest_first);
    let total = found.len();
    found.truncate(MAX_RESULTS);
    let names: Vec<String> = found.iter().map(|file| files.workspace.display(&file.path)).collect();
    let truncated = total > names.len() || !harvest.complete;
    let text = text(&names, total, harvest.complete);
    let structured = json!({
        "filenames": names,
        "durationMs": started.elapsed().as_millis() as u64,
        "numFiles": names.len(),
        "truncated": truncated,
        "totalMatches": total,
        "countIsComplete": harvest.complete,
    });
    Ok(ToolOutcome::text(text, structured))
}

fn text(names: &[String], total: usize, complete: bool) -> String {
    let mut text = if names.is_empty() { "No files found".to_owned() } else { names.join("\n") };
    if total > names.len() {
        let _ = write!(text, "\n\n[{} of {total} files shown; narrow the pattern or the path.]", names.len());
    }
    if !complete {
        text.push_str("\n\n[The search was stopped before it saw every folder; narrow the path.]");
    }
    text
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
