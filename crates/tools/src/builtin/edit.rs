//! Edit: one exact text for another, in place.
//!
//! Deliberately absent: fuzzy matching. What is replaced is what the model named, byte for byte, save
//! that a model never sees `\r` and so need not send it.

use crate::context::{Files, ToolContext};
use crate::existing::{self, Existing};
use crate::schema::{self, InputError};
use crate::text::{self, Encoding, Text};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed, path_target};
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, file_error, patch, worker};
use memchr::memmem;
use policy::{Targets, names};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::alone(
    &names::EDIT,
    "Replaces old_string by new_string in a file. old_string must be in the file exactly as given, \
        indentation included and without the line numbers that Read adds, and only once; add lines around it to make it \
        unique, or set replace_all.\n\
        Read the file before. Line endings, encoding and mode of the file are kept. An empty old_string creates a file \
        that does not exist yet.",
    r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Absolute path of the file"},"old_string":{"type":"string","description":"The text to replace"},"new_string":{"type":"string","description":"The text to put there; must differ from old_string"},"replace_all":{"type":"boolean","default":false,"description":"Replace every occurrence, not just one"}},"required":["file_path","old_string","new_string"],"additionalProperties":false}"#,
);

const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
struct Input {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

pub(crate) struct Edit;

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    /// Clients see `replace_all` in every call, as the first field.
    fn adapt(&self, _called_as: &str, input: Value) -> Value {
        let Value::Object(mut fields) = input else { return input };
        let replace_all = fields.shift_remove("replace_all").filter(|given| !given.is_null());
        let mut ordered = Map::new();
        ordered.insert("replace_all".into(), replace_all.unwrap_or(Value::Bool(false)));
        ordered.extend(fields);
        Value::Object(ordered)
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
    let work = move |_: &_| edit(&files, &target, &input).unwrap_or_else(|refusal| refusal);
    Ok(worker::run(SPEC.entry.name, DEADLINE, work).await)
}

fn edit(files: &Files, target: &Target, input: &Input) -> Result<ToolOutcome, ToolOutcome> {
    if input.old_string == input.new_string {
        return Err(ToolOutcome::misuse("old_string and new_string are the same, so there is nothing to change."));
    }
    let Some(existing) = Existing::load(files, target)? else {
        return create(files, target, input);
    };
    require_known(files, target, &existing)?;
    let changed = existing.changed_since_read();
    let replaced = match replace(&existing.text.body, &input.old_string, &input.new_string) {
        Err(_) | Ok(Replaced { count: 2.., .. }) if changed => return Err(existing::modified_since_read(target)),
        Err(refusal) => return Err(ToolOutcome::misuse(refusal.text(target))),
        Ok(Replaced { count: count @ 2.., .. }) if !input.replace_all => {
            return Err(ToolOutcome::misuse(format!(
                "old_string is in {} {count} times, and nothing was changed. Add lines around it until it is unique, or set \
                 replace_all to change every one.",
                target.shown()
            )));
        }
        Ok(replaced) => replaced,
    };
    let bytes = text::encode(existing.text.encoding, &replaced.body);
    let stamp = files
        .workspace
        .replace(target, &bytes, Some(&existing.stamp))
        .map_err(|error| ToolOutcome::error(file_error::writing(target, &error)))?;
    files.reads.edited(&target.real, &existing.stamp, stamp);
    let mut text = match replaced.count {
        1 => format!("Edited {}.", target.shown()),
        count => format!("Edited {}: {count} places.", target.shown()),
    };
    if changed {
        text.push_str(" The file had been modified since read; this edit was made on its present content.");
    }
    Ok(done(target, input, text, &existing.shown(), &Text::shown(&replaced.body)))
}

fn require_known(files: &Files, target: &Target, existing: &Existing) -> Result<(), ToolOutcome> {
    if target.real.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        return Err(ToolOutcome::misuse(format!(
            "{} is a notebook; change its cells with NotebookEdit.",
            target.shown()
        )));
    }
    if !existing.text.faithful {
        return Err(ToolOutcome::error(format!(
            "{} is broken UTF-16 and an edit would lose bytes; repair it with Bash first.",
            target.shown()
        )));
    }
    if files.must_read_first && !existing.seen.is_some_and(|seen| seen.whole) {
        return Err(existing::must_read(target, existing.partly_read()));
    }
    Ok(())
}

fn create(files: &Files, target: &Target, input: &Input) -> Result<ToolOutcome, ToolOutcome> {
    if !input.old_string.is_empty() {
        let missing = std::io::ErrorKind::NotFound.into();
        return Err(ToolOutcome::error(file_error::opening(target, &missing, &files.workspace)));
    }
    let bytes = text::encode(Encoding::Utf8, input.new_string.as_bytes());
    let stamp = files
        .workspace
        .replace(target, &bytes, None)
        .map_err(|error| ToolOutcome::error(file_error::writing(target, &error)))?;
    files.reads.known(&target.real, stamp);
    Ok(done(target, input, format!("Created {}.", target.shown()), "", &input.new_string))
}

/// A file that was not there before had no text.
fn done(target: &Target, input: &Input, text: String, original: &str, new: &str) -> ToolOutcome {
    let structured = json!({
        "filePath": target.shown(),
        "oldString": input.old_string,
        "newString": input.new_string,
        "originalFile": existing::shown_original(original),
        "structuredPatch": patch::structured(original, new),
        "userModified": false,
        "replaceAll": input.replace_all,
    });
    ToolOutcome::text(text, structured)
}

#[derive(Debug, PartialEq, Eq)]
struct Replaced {
    body: Vec<u8>,
    count: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    NotFound,
    /// An empty text is everywhere; it only names the content of a file that has none.
    EmptyInFull,
}

impl Refusal {
    fn text(&self, target: &Target) -> String {
        let path = target.shown();
        match self {
            Self::NotFound => format!(
                "old_string was not found in {path}, and nothing was changed. It must match exactly, spaces and tabs \
                 included, without line numbers; read that part of the file again."
            ),
            Self::EmptyInFull => {
                format!(
                    "{path} exists and is not empty, so an empty old_string names no place in it. Use Write to replace all."
                )
            }
        }
    }
}

/// Replaces every occurrence; the caller decides whether so many were meant.
fn replace(body: &[u8], old: &str, new: &str) -> Result<Replaced, Refusal> {
    let crlf = text::mostly_crlf(body);
    if old.is_empty() {
        return if body.is_empty() {
            Ok(Replaced { body: new.as_bytes().to_vec(), count: 1 })
        } else {
            Err(Refusal::EmptyInFull)
        };
    }
    let new = if crlf { with_crlf(new) } else { Cow::Borrowed(new) };
    // A file with both endings may hold the text with either; the file's usual one goes first.
    let spellings = if crlf { [with_crlf(old), Cow::Borrowed(old)] } else { [Cow::Borrowed(old), with_crlf(old)] };
    let found = spellings.iter().find_map(|old| {
        let places: Vec<usize> = memmem::find_iter(body, old.as_bytes()).collect();
        (!places.is_empty()).then(|| splice(body, &places, old.len(), new.as_bytes()))
    });
    found.ok_or(Refusal::NotFound)
}

fn splice(body: &[u8], places: &[usize], len: usize, new: &[u8]) -> Replaced {
    let mut spliced = Vec::with_capacity(body.len() + new.len());
    let mut from = 0;
    for &place in places {
        spliced.extend_from_slice(&body[from..place]);
        spliced.extend_from_slice(new);
        from = place + len;
    }
    spliced.extend_from_slice(&body[from..]);
    Replaced { body: spliced, count: places.len() }
}

fn with_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
