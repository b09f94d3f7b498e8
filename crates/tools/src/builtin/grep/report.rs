//! One page of Grep's matches, as text for the model and as an object for clients.

use super::{Findings, Input, Mode};
use crate::ToolOutcome;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Without a limit of its own a search stops collecting here.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// A page is never longer than this, whatever the limit: four bytes to the token, it fills a tenth of a
/// model's context.
const MAX_PAGE_BYTES: usize = 100_000;

struct Page<'a> {
    entries: &'a [String],
    /// There is more after it.
    more: bool,
    /// It was ended by its size, not by its number of entries.
    by_size: bool,
}

pub(crate) fn outcome(input: &Input, findings: &Findings) -> ToolOutcome {
    let page = page(input, findings);
    let mut text = match input.output_mode {
        Mode::FilesWithMatches => files_text(input, findings, &page),
        Mode::Content => content_text(input, findings, &page),
        Mode::Count => count_text(input, findings, &page),
    };
    if page.by_size {
        let next = input.offset + page.entries.len();
        let _ = write!(text, "\n\n[Cut to fit: go on with offset {next}, or narrow the search.]");
    }
    if !findings.complete {
        text.push_str("\n\n[The search was stopped before it saw every file; narrow path, glob or type.]");
    }
    ToolOutcome::text(text, structured(input, findings, &page))
}

fn page<'a>(input: &Input, findings: &'a Findings) -> Page<'a> {
    let rest = findings.entries.get(input.offset..).unwrap_or_default();
    let by_number = input.head_limit().map_or(rest.len(), |limit| limit.min(rest.len()));
    let mut bytes = 0;
    let fitting = rest[..by_number].iter().take_while(|entry| {
        bytes += entry.len() + 1;
        bytes <= MAX_PAGE_BYTES
    });
    let shown = fitting.count().max(by_number.min(1));
    Page { entries: &rest[..shown], more: shown < rest.len(), by_size: shown < by_number }
}

fn paging(input: &Input, page: &Page<'_>) -> Option<String> {
    let limit = page.more.then(|| format!("limit: {}", page.entries.len()));
    let offset = (input.offset > 0).then(|| format!("offset: {}", input.offset));
    match (limit, offset) {
        (Some(limit), Some(offset)) => Some(format!("{limit}, {offset}")),
        (limit, offset) => limit.or(offset),
    }
}

fn past_the_end(input: &Input, findings: &Findings, page: &Page<'_>) -> Option<String> {
    let past = page.entries.is_empty() && !findings.entries.is_empty();
    past.then(|| format!("No entries at this offset: {} of {} exist.", input.offset, findings.entries.len()))
}

fn plural(count: impl Into<u64>, one: &str) -> String {
    let count = count.into();
    if count == 1 { format!("{count} {one}") } else { format!("{count} {one}s") }
}

fn files_text(input: &Input, findings: &Findings, page: &Page<'_>) -> String {
    if findings.entries.is_empty() {
        return "No files found".into();
    }
    past_the_end(input, findings, page).unwrap_or_else(|| {
        let paging = paging(input, page).map(|paging| format!(" {paging}")).unwrap_or_default();
        format!("Found {}{paging}\n{}", plural(page.entries.len() as u64, "file"), page.entries.join("\n"))
    })
}

fn content_text(input: &Input, findings: &Findings, page: &Page<'_>) -> String {
    if findings.entries.is_empty() {
        return "No matches found".into();
    }
    past_the_end(input, findings, page).unwrap_or_else(|| {
        let mut text = page.entries.join("\n");
        if let Some(paging) = paging(input, page) {
            let _ = write!(text, "\n\n[Showing results with pagination = {paging}]");
        }
        text
    })
}

fn count_text(input: &Input, findings: &Findings, page: &Page<'_>) -> String {
    let list = if findings.entries.is_empty() { "No matches found".into() } else { page.entries.join("\n") };
    let list = past_the_end(input, findings, page).unwrap_or(list);
    let (matches, files) = (plural(findings.matches, "total occurrence"), plural(findings.files as u64, "file"));
    let paging = paging(input, page).map(|paging| format!(" with pagination = {paging}")).unwrap_or_default();
    format!("{list}\n\nFound {matches} across {files}.{paging}")
}

fn structured(input: &Input, findings: &Findings, page: &Page<'_>) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| fields.insert(name.into(), value);
    match input.output_mode {
        Mode::FilesWithMatches => {
            add("mode", "files_with_matches".into());
            add("filenames", page.entries.into());
            add("numFiles", page.entries.len().into());
        }
        Mode::Content => {
            add("mode", "content".into());
            add("numFiles", 0.into());
            add("filenames", Value::Array(Vec::new()));
            add("content", page.entries.join("\n").into());
            add("numLines", page.entries.len().into());
        }
        Mode::Count => {
            add("mode", "count".into());
            add("numFiles", findings.files.into());
            add("filenames", Value::Array(Vec::new()));
            add("content", page.entries.join("\n").into());
            add("numMatches", findings.matches.into());
        }
    }
    if page.more {
        add("appliedLimit", page.entries.len().into());
    }
    if input.offset > 0 {
        add("appliedOffset", input.offset.into());
    }
    Value::Object(fields)
}
