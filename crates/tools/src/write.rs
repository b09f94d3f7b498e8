//! Write: a whole file at once. Line endings are the model's own: it sent the whole content and meant it.

use crate::ctx::{Ctx, Files, Invocation};
use crate::dispatch::only_target;
use crate::existing::{self, Existing};
use crate::text::{self, Encoding};
use crate::workspace::Target;
use crate::{Outcome, ToolSpec, file_error, input, patch, worker};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) const SPEC: ToolSpec = ToolSpec {
    name: "Write",
    description: "Writes a file, replacing what was there; missing folders are created.\n\
        Read an existing file before overwriting it, and prefer Edit for changing a part of it. Do not create files \
        that the task does not need.",
    schema: r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Absolute path of the file"},"content":{"type":"string","description":"The whole new content"}},"required":["file_path","content"],"additionalProperties":false}"#,
    read_only: false,
};

const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
struct Input {
    content: String,
}

pub(crate) async fn run(call: &Invocation<'_>, ctx: &Ctx) -> Outcome {
    let input: Input = match input::parse("Write", call.input) {
        Ok(input) => input,
        Err(text) => return Outcome::misuse(text),
    };
    let target = match only_target(call) {
        Ok(target) => target,
        Err(outcome) => return outcome,
    };
    let files = ctx.files();
    worker::run("Write", DEADLINE, move |_| write(&files, &target, &input.content).unwrap_or_else(|refused| refused))
        .await
}

fn write(files: &Files, target: &Target, content: &str) -> Result<Outcome, Outcome> {
    let existing = Existing::load(files, target)?;
    if let Some(existing) = &existing {
        require_known(files, target, existing)?;
    }
    let encoding = existing.as_ref().map_or(Encoding::Utf8, |existing| existing.text.encoding);
    let bytes = text::encode(encoding, content.as_bytes());
    let stamp = files
        .workspace
        .replace(target, &bytes, existing.as_ref().map(|existing| &existing.stamp))
        .map_err(|error| Outcome::error(file_error::writing(target, &error)))?;
    files.reads.known(&target.real, stamp);
    Ok(done(target, content, existing.as_ref()))
}

/// A file that exists may hold what the model does not know; overwriting would lose it.
fn require_known(files: &Files, target: &Target, existing: &Existing) -> Result<(), Outcome> {
    let notebook = target.real.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
    if existing.partly_read() || (existing.seen.is_none() && (files.must_read_first || notebook)) {
        return Err(existing::must_read(target, existing.partly_read()));
    }
    if existing.changed_since_read() {
        return Err(existing::modified_since_read(target));
    }
    Ok(())
}

fn done(target: &Target, content: &str, existing: Option<&Existing>) -> Outcome {
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
    Outcome::text(text, structured)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
