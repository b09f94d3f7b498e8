//! Read: a file as the model can take it. Text with line numbers, pictures, PDF pages, notebooks.
//!
//! What a file is, its first bytes say, not its name; only notebooks are known by name, being JSON.

mod cells;
mod error;
mod lines;
mod pdf;
mod picture;

use self::error::ReadError;
use self::lines::Page;
use self::picture::Media;
use crate::context::{Files, ToolContext};
use crate::read_log::Range;
use crate::schema::{self, InputError};
use crate::stamp::Stamp;
use crate::text::{self, Encoding, Text};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed, path_target};
use crate::worker::{self, Stop};
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, file_error};
use policy::{Targets, names};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Cursor, Read as _};
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::READ,
    "Reads a file from disk. Text comes with line numbers: number, tab, line; the first line is 1.\n\
        Without offset and limit the whole file is read; of a long file you get the first part and a note, then ask for \
        the rest by offset and limit. Lines over 2000 characters are cut.\n\
        Also shows images (PNG, JPEG, GIF, WebP), PDF files (over 10 pages: give `pages`) and Jupyter notebooks with \
        their outputs. Cannot list folders: use Glob or ls.\n\
        Several files can be read at once by several calls in one message.",
    r#"{"type":"object","properties":{"file_path":{"type":"string","description":"Absolute path of the file"},"offset":{"type":"integer","minimum":0,"description":"Line to start from, counted from 1"},"limit":{"type":"integer","minimum":1,"description":"How many lines to read"},"pages":{"type":"string","description":"For PDF files: a page or a range such as 3 or 1-5, at most 20 pages"}},"required":["file_path"],"additionalProperties":false}"#,
);

/// Enough for any parser on any file within the size limits; past it the file system hangs.
const DEADLINE: Duration = Duration::from_secs(30);
/// How much of a file is looked at to tell what it is.
const HEAD: usize = 8 * 1024;
/// Text in UTF-16 is converted as a whole, so it must fit in memory.
const UTF16_MAX: u64 = 32 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Input {
    offset: Option<usize>,
    limit: Option<usize>,
    pages: Option<String>,
}

pub(crate) struct Read;

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        Ok(Targets::paths(vec![path_target(&SPEC, input, workspace)?]))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = schema::parse(SPEC.entry.name, call.input)?;
    let target = call.only_path()?;
    let files = context.files();
    let work = move |stop: &Stop| {
        read(&files, &target, &input, stop).unwrap_or_else(|error| ToolOutcome::error(error.to_string()))
    };
    let mut outcome = worker::run(SPEC.entry.name, DEADLINE, work).await;
    name_as_given(&mut outcome.structured, call.input);
    Ok(outcome)
}

/// Clients find the file by the path of the call, whatever it was resolved to.
fn name_as_given(structured: &mut Value, input: &Value) {
    if let Some(path) = structured.get_mut("file").and_then(|file| file.get_mut("filePath")) {
        *path = input[SPEC.entry.subject].clone();
    }
}

fn read(files: &Files, target: &Target, input: &Input, stop: &Stop) -> Result<ToolOutcome, ReadError> {
    let unread = |error: io::Error| ReadError::File(file_error::reading(target, &error));
    let unopened = |error: io::Error| ReadError::File(file_error::opening(target, &error, &files.workspace));
    let mut file = files.workspace.open_read(target).map_err(unopened)?;
    let meta = file.metadata().map_err(unread)?;
    if meta.is_dir() {
        return Err(ReadError::File(file_error::is_folder(target)));
    }
    let stamp = Stamp::of(&meta);
    let head = read_head(&mut file).map_err(unread)?;
    let opened = Opened { target, file, head, stamp };
    if target.real.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        let outcome = cells::read(opened.whole(cells::MAX_BYTES)?, target, files.limits)?;
        files.reads.known(&target.real, stamp);
        return Ok(outcome);
    }
    match sniff(&opened.head) {
        Kind::Image(media) => picture::read(&opened.whole(picture::MAX_BYTES)?, media, target),
        Kind::Pdf => {
            let pages = input.pages.as_deref().filter(|pages| !pages.trim().is_empty());
            pdf::read(&opened.whole(pdf::MAX_BYTES)?, pages, target)
        }
        Kind::Binary(kind) => Err(ReadError::Binary { path: target.shown(), kind }),
        Kind::Text(encoding) => read_lines(files, opened, encoding, input, stop),
    }
}

/// A file that was opened once; everything about it comes from this handle.
struct Opened<'a> {
    target: &'a Target,
    file: File,
    /// What was already read of it.
    head: Vec<u8>,
    stamp: Stamp,
}

impl Opened<'_> {
    fn whole(self, max: u64) -> Result<Vec<u8>, ReadError> {
        let rest = text::load(&self.file, max)
            .map_err(|error| ReadError::File(file_error::reading(self.target, &error)))?
            .ok_or_else(|| ReadError::TooLarge { path: self.target.shown(), max })?;
        Ok([self.head, rest].concat())
    }
}

fn read_head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Text(Encoding),
    Image(Media),
    Pdf,
    Binary(&'static str),
}

fn sniff(head: &[u8]) -> Kind {
    if let Some(media) = Media::sniff(head) {
        return Kind::Image(media);
    }
    if head.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    let known: [(&[u8], &str); 8] = [
        (b"\x7fELF", "an executable or library (ELF)"),
        (b"\xcf\xfa\xed\xfe", "an executable or library (Mach-O)"),
        (b"PK\x03\x04", "a ZIP archive or a format based on it"),
        (b"\x1f\x8b", "gzip-compressed data"),
        (b"\xfd7zXZ", "xz-compressed data"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\0asm", "a WebAssembly module"),
    ];
    if let Some((_, name)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Kind::Binary(name);
    }
    let encoding = Encoding::sniff(head);
    let text = encoding.is_utf16() || !head.contains(&0);
    if text { Kind::Text(encoding) } else { Kind::Binary("a binary file") }
}

fn read_lines(
    files: &Files,
    opened: Opened<'_>,
    encoding: Encoding,
    input: &Input,
    stop: &Stop,
) -> Result<ToolOutcome, ReadError> {
    let Opened { target, stamp, .. } = opened;
    let range = Range { offset: input.offset, limit: input.limit };
    if files.reads.repeats(&target.real, &stamp, range) {
        return Ok(unchanged(target));
    }
    let first = input.offset.unwrap_or(1).max(1);
    let budget = files.limits.read_max_bytes();
    let page = if encoding.is_utf16() {
        let text = Text::decode(opened.whole(UTF16_MAX)?);
        lines::page(Cursor::new(text.body), first, input.limit, budget, stop)
    } else {
        let head = Cursor::new(&opened.head[encoding.mark_len()..]);
        lines::page(head.chain(&opened.file), first, input.limit, budget, stop)
    };
    let page = page.map_err(|error| ReadError::File(file_error::reading(target, &error)))?;
    let shown = Shown { target, page, first, size: stamp.size };
    if shown.page.cut && range != Range::default() {
        return Err(ReadError::TooManyTokens(shown.too_much(files.limits.read_max_tokens)));
    }
    if let Some(last) = shown.last() {
        files.reads.viewed(&target.real, stamp, (first, last), shown.page.total);
        if !shown.page.cut {
            files.reads.answered(&target.real, stamp, range);
        }
    }
    Ok(shown.outcome())
}

fn unchanged(target: &Target) -> ToolOutcome {
    ToolOutcome::text(
        "The file has not changed since this same call was last answered; that answer, further up, still holds.",
        json!({"type": "file_unchanged", "file": {"filePath": target.shown()}}),
    )
}

struct Shown<'a> {
    target: &'a Target,
    page: Page,
    first: usize,
    size: u64,
}

impl Shown<'_> {
    fn last(&self) -> Option<usize> {
        self.page.lines.len().checked_sub(1).map(|more| self.first + more)
    }

    fn total(&self) -> String {
        let more = if self.page.counted { "" } else { "more than " };
        format!("{more}{}", self.page.total)
    }

    fn too_much(&self, max_tokens: usize) -> String {
        format!(
            "These lines of {} are over the limit of {max_tokens} tokens a call. Lines {}-{} of {} fit: ask for \
             offset {} with limit {} or less, or search the file with Grep.",
            self.target.shown(),
            self.first,
            self.last().unwrap_or(self.first),
            self.total(),
            self.first,
            self.page.lines.len(),
        )
    }

    fn outcome(&self) -> ToolOutcome {
        let content = self.page.lines.join("\n");
        let mut file = json!({
            "filePath": self.target.shown(),
            "content": content,
            "numLines": self.page.lines.len(),
            "startLine": self.first,
            "totalLines": self.page.total,
        });
        if self.page.cut {
            file["truncatedByTokenCap"] = true.into();
        }
        ToolOutcome::text(self.text(), json!({"type": "text", "file": file}))
    }

    fn text(&self) -> String {
        let Some(last) = self.last() else {
            return format!(
                "[Nothing to show: the file has {} lines, and offset {} is past its end.]",
                self.total(),
                self.first
            );
        };
        if self.page.total == 1 && self.page.lines.iter().all(String::is_empty) && self.first == 1 {
            return "[The file exists but is empty.]".into();
        }
        let mut text = String::new();
        for (number, line) in (self.first..).zip(&self.page.lines) {
            if !text.is_empty() {
                text.push('\n');
            }
            let _ = write!(text, "{number}\t{line}");
        }
        if self.page.cut {
            let _ = write!(
                text,
                "\n\n[PARTIAL view: lines {}-{last} of {} ({} KB). Read on with offset {} and a limit, or use Grep.]",
                self.first,
                self.total(),
                self.size.div_ceil(1024),
                last + 1
            );
        }
        text
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
