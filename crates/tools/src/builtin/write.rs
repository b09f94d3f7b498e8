//! Write: a whole file at once. Line endings are the model's own: it sent the whole content and meant it.

use crate::context::{Files, ToolContext};
use crate::existing::{self, Existing};
use crate::schema::{self, InputError};
use crate::text::{self, Encoding};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed, path_target};
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, file_error, patch, worker};
use policy::{Targets, names};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::alone(
    &names::WRITE,
    "Writes a file, replacing what was there; missing folders are created.\n\
        Read an existing file before overwriting it, and prefer Edit for changing a part of it. Do not create files \
        that the task does not need.",
    r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Absolute path of the file"},"content":{"type":"string","description":"The whole new content"}},"required":["file_path","content"],"additionalProperties":false}"#,
);

const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
struct Input {
    content: String,
}

pub(crate) struct Write;

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        Ok(Targets::paths(vec![path_target(&SPEC, input, workspace)?.for_writing()]))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = schema::parse(SPEC.entry.name, call.input)?;
    let target = call.only_path()?;
    let files = context.files();
    let work = move |_: &_| write(&files, &target, &input.content).unwrap_or_else(|refusal| refusal);
    Ok(worker::run(SPEC.entry.name, DEADLINE, work).await)
}

fn write(files: &Files, target: &Target, content: &str) -> Result<ToolOutcome, ToolOutcome> {
    let existing = Existing::load(files, target)?;
    if let Some(existing) = &existing {
        require_known(files, target, existing)?;
    }
    let encoding = existing.as_ref().map_or(Encoding::Utf8, |existing| existing.text.encoding);
    let bytes = text::encode(encoding, content.as_bytes());
    let stamp = files
        .workspace
        .replace(target, &bytes, existing.as_ref().map(|existing| &existing.stamp))
        .map_err(|error| ToolOutcome::error(file_error::writing(target, &error)))?;
    files.reads.known(&target.real, stamp);
    Ok(done(target, content, existing.as_ref()))
}

/// A file that exists may hold what the model does not know; overwriting would lose it.
fn require_known(files: &Files, target: &Target, existing: &Existing) -> Result<(), ToolOutcome> {
    let notebook = target.real.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
    if existing.partly_read() || (existing.seen.is_none() && (files.must_read_first || notebook)) {
        return Err(existing::must_read(target, existing.partly_read()));
    }
    if existing.changed_since_read() {
        return Err(existing::modified_since_read(target));
    }
    Ok(())
}

fn done(target: &Target, content: &str, existing: Option<&Existing>) -> ToolOutcome {
    let path = target.shown();
    let (kind, text) = match existing {
        None => ("create", format!("Created {path}.")),
        Some(_) => ("update", format!("Replaced the content of {path}.")),
    };
    // What is no text has neither a readable original nor a diff.
    let original = existing.filter(|existing| !existing.text.body.contains(&0)).map(Existing::shown);
    let hunks: Vec<Value> = original.as_ref().map_or_else(Vec::new, |original| patch::structured(original, content));
    let structured = json!({
        "type": kind,
        "filePath": path,
        "content": content,
        "structuredPatch": hunks,
        "originalFile": original.as_deref().and_then(existing::shown_original),
        "userModified": false,
    });
    ToolOutcome::text(text, structured)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
