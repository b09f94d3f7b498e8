//! A tool call in one line: its name and its target, with the details to unfold.
//!
//! Inputs are whatever a model wrote, so every field is looked for and none is required.

use crate::clean;
use cycle::ToolCall;
use serde_json::Value;

/// What a person unfolds on a screen: all that agents pass on of an output.
const OUTPUT_MAX: usize = 128 * 1024;
/// Of a command that is longer than its line.
const INPUT_MAX: usize = 32 * 1024;
/// A subject is one line, cut to the screen later.
const SUBJECT_MAX: usize = 400;
/// A longer command does not fit the line of its call on most screens.
const LINE_SHOWN: usize = 60;
/// Rows of a diff that are kept. A written file of 10,000 lines is not read here.
const DIFF_ROWS_MAX: usize = 200;
/// Around what a tool says of a call that was never made.
const ERROR: (&str, &str) = ("<tool_use_error>", "</tool_use_error>");
/// Unchanged rows around a change.
const CONTEXT_ROWS: usize = 1;

#[derive(Debug, Clone)]
pub struct Tool {
    pub call: String,
    pub name: String,
    pub subject: String,
    /// The whole command, where its line does not show all of it.
    pub input: String,
    pub diff: Option<Diff>,
    pub status: Status,
    pub started: u64,
    pub ended: Option<u64>,
    /// The call whose sub-agent made this one.
    pub parent: Option<String>,
    pub output: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    Ok,
    Failed,
    Denied,
    /// Its iteration ended without an answer.
    Lost,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    pub added: usize,
    pub removed: usize,
    pub rows: Vec<(Side, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Same,
    Added,
    Removed,
}

impl Tool {
    /// `folder` is the run's; paths inside it are shown relative to it.
    pub fn new(call: &ToolCall, at: u64, folder: &str) -> Self {
        let subject = subject(&call.name, &call.input, folder);
        let long = subject.contains('\n') || subject.len() > LINE_SHOWN;
        let input = if long { clean::block(clean::head(&subject, INPUT_MAX)).into_owned() } else { String::new() };
        Self {
            input,
            call: call.id.clone(),
            name: short_name(&call.name),
            subject: clean::line(clean::head(&subject, SUBJECT_MAX)).into_owned(),
            diff: diff_of(&call.name, &call.input),
            status: Status::Running,
            started: at,
            ended: None,
            parent: call.parent.clone(),
            output: String::new(),
        }
    }

    pub fn finish(&mut self, status: Status, output: &str, at: u64) {
        self.status = status;
        self.ended = Some(at);
        output.clone_into(&mut self.output);
        if self.output.len() > OUTPUT_MAX {
            self.output = format!("{}\n…", clean::head(&self.output, OUTPUT_MAX));
        }
        self.output = clean::block(self.output.trim_end()).into_owned();
    }

    pub fn bytes(&self) -> usize {
        let rows = self.diff.as_ref().map_or(0, |diff| diff.rows.iter().map(|(_, row)| row.len() + 32).sum());
        self.call.len() + self.name.len() + self.subject.len() + self.input.len() + self.output.len() + rows
    }

    pub fn plain(&self) -> String {
        let rows = self.diff.iter().flat_map(|diff| &diff.rows).map(|(_, row)| row.as_str());
        let subject = if self.input.is_empty() { &self.subject } else { &self.input };
        let parts = [self.name.as_str(), subject.as_str(), self.output.as_str()];
        parts.into_iter().chain(rows).collect::<Vec<_>>().join(" ")
    }
}

/// What a tool answered, for people: without the marks that are for models, paths relative to the run's folder.
pub fn told(output: &str, folder: &str) -> String {
    let inner = output.trim().strip_prefix(ERROR.0).and_then(|rest| rest.strip_suffix(ERROR.1));
    let output = inner.unwrap_or(output);
    if folder.is_empty() { output.to_owned() } else { output.replace(&format!("{folder}/"), "") }
}

/// `mcp__server__tool` is `server:tool`.
fn short_name(name: &str) -> String {
    let name = clean::line(clean::head(name, SUBJECT_MAX)).into_owned();
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => format!("{server}:{tool}"),
        None => name,
    }
}

fn field<'a>(input: &'a Value, name: &str) -> Option<&'a str> {
    input.get(name).and_then(Value::as_str)
}

fn subject(name: &str, input: &Value, folder: &str) -> String {
    let path = || field(input, "file_path").or_else(|| field(input, "notebook_path")).or_else(|| field(input, "path"));
    let text = match name {
        "Read" => format!("{}{}", path().unwrap_or_default(), range(input)),
        "Grep" | "Glob" => {
            // The run's own folder goes without saying.
            let place = path().filter(|path| path.trim_end_matches('/') != folder);
            let place = place.map(|path| format!("  in {path}")).unwrap_or_default();
            format!("{}{place}", field(input, "pattern").unwrap_or_default())
        }
        "Bash" => field(input, "command").unwrap_or_default().trim().to_owned(),
        "Task" | "Agent" => field(input, "description").unwrap_or_default().to_owned(),
        "TodoWrite" => todo_count(input),
        _ => path().or_else(|| first_text(input)).unwrap_or_default().to_owned(),
    };
    relative(&text, folder)
}

fn range(input: &Value) -> String {
    let number = |name: &str| input.get(name).and_then(Value::as_u64);
    match (number("offset"), number("limit")) {
        (Some(from), Some(count)) => format!("  {from}–{}", from.saturating_add(count)),
        (Some(from), None) => format!("  {from}–"),
        (None, Some(count)) => format!("  1–{count}"),
        (None, None) => String::new(),
    }
}

fn todo_count(input: &Value) -> String {
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let done = todos.iter().filter(|todo| field(todo, "status") == Some("completed")).count();
    format!("{done}/{} done", todos.len())
}

fn first_text(input: &Value) -> Option<&str> {
    input.as_object()?.values().find_map(Value::as_str)
}

/// Paths inside the run's folder lose it, in commands too.
fn relative(text: &str, folder: &str) -> String {
    let folder = folder.trim_end_matches('/');
    if folder.is_empty() {
        return text.to_owned();
    }
    let inside = text.replace(&format!("{folder}/"), "");
    if inside == folder { ".".to_owned() } else { inside }
}

fn diff_of(name: &str, input: &Value) -> Option<Diff> {
    let mut diff = Diff::default();
    match name {
        "Write" => diff.between("", field(input, "content")?),
        "Edit" => diff.between(field(input, "old_string")?, field(input, "new_string")?),
        "MultiEdit" => {
            for edit in input.get("edits")?.as_array()? {
                diff.between(field(edit, "old_string")?, field(edit, "new_string")?);
            }
        }
        "NotebookEdit" => diff.between("", field(input, "new_source")?),
        _ => return None,
    }
    Some(diff)
}

impl Diff {
    /// Rows that both ends share are context; what lies between was replaced.
    fn between(&mut self, old: &str, new: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let room = old.len().min(new.len()) - before;
        let after = old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
        let (gone, come) = (&old[before..old.len() - after], &new[before..new.len() - after]);
        self.added += come.len();
        self.removed += gone.len();
        self.keep(Side::Same, &old[before.saturating_sub(CONTEXT_ROWS)..before]);
        self.keep(Side::Removed, gone);
        self.keep(Side::Added, come);
        self.keep(Side::Same, &old[old.len() - after..(old.len() - after + CONTEXT_ROWS).min(old.len())]);
    }

    fn keep(&mut self, side: Side, rows: &[&str]) {
        let room = DIFF_ROWS_MAX.saturating_sub(self.rows.len());
        let cleaned = |row: &&str| (side, clean::line(clean::head(row, SUBJECT_MAX)).into_owned());
        self.rows.extend(rows.iter().take(room).map(cleaned));
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
