//! A recording: one line of JSON for each answer of the API, with what was asked, without secrets. The lines
//! are a script that can be played again.
//!
//! What is kept of a request is what its conversation gained, not the conversation again. Deliberately absent:
//! requests that are no messages; the mock answers those by itself.

use crate::answer_parser::ParsedAnswer;
use crate::http::Request;
use crate::record::SECRET_HEADERS;
use crate::recording::{MARK, VERSION};
use crate::redact::{REDACTED, Redactor};
use crate::request_key::RequestKey;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Stands for the folder that was worked in, so that a recording plays in another one.
const FOLDER: &str = "$WD";

/// A new file that nobody else can read. What is there already, a link among it, is left alone.
pub fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Where a [`crate::Relay`] writes what goes by.
pub struct RecordingWriter {
    inner: Mutex<Inner>,
    folder: String,
    started: Instant,
}

struct Inner {
    file: File,
    redactor: Redactor,
    answers: usize,
    trouble: Option<io::Error>,
}

impl RecordingWriter {
    /// `folder` is where the agent works.
    pub fn new(mut file: File, folder: &Path, redactor: Redactor) -> io::Result<Self> {
        file.write_all(format!("{}\n", json!({MARK: VERSION})).as_bytes())?;
        let inner = Mutex::new(Inner { file, redactor, answers: 0, trouble: None });
        Ok(Self { inner, folder: folder.display().to_string(), started: Instant::now() })
    }

    /// Answers that were written.
    pub fn answers(&self) -> usize {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).answers
    }

    /// Why the recording is not whole, where it is not.
    pub fn trouble(&self) -> Option<String> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).trouble.as_ref().map(ToString::to_string)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Writes an answer. What cannot be written never holds up the agent.
    pub(crate) fn write(&self, request: &Request, at_ms: u64, answered: &ParsedAnswer) {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut line = json!({
            "at_ms": at_ms,
            "took_ms": self.now_ms().saturating_sub(at_ms),
            "request": describe(request, &body),
            "turn": answered.turn(),
        });
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in credentials(request) {
            inner.redactor.learn(secret);
        }
        inner.redactor.value(&mut line);
        place(&mut line, &self.folder);
        // One write: a crash leaves whole lines and at most one torn tail.
        match inner.file.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => inner.answers += 1,
            Err(error) => inner.trouble = Some(error),
        }
    }
}

fn describe(request: &Request, body: &Value) -> Value {
    let headers: Map<String, Value> = request
        .headers
        .iter()
        .map(|(name, value)| {
            let shown = if SECRET_HEADERS.contains(&name.as_str()) { REDACTED } else { value };
            (name.clone(), shown.into())
        })
        .collect();
    let mut described = json!({"path": request.path, "headers": headers, "added": added(body)});
    if let (Some(into), Ok(Value::Object(asked))) =
        (described.as_object_mut(), serde_json::to_value(RequestKey::of(body)))
    {
        into.extend(asked);
    }
    described
}

/// The messages since the model last spoke.
fn added(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let spoke = messages.iter().rposition(|message| message["role"] == "assistant");
    messages[spoke.map_or(0, |at| at + 1)..].to_vec()
}

/// What the agent proved itself with: secret wherever else it turns up.
fn credentials(request: &Request) -> impl Iterator<Item = &str> {
    let secret = request.headers.iter().filter(|(name, _)| SECRET_HEADERS.contains(&name.as_str()));
    secret.map(|(_, value)| value.rsplit(' ').next().unwrap_or(value))
}

/// Names the folder by its placeholder, but not others whose name only begins like it.
fn place(value: &mut Value, folder: &str) {
    match value {
        Value::String(text) if text.contains(folder) => *text = placed(text, folder),
        Value::Array(items) => items.iter_mut().for_each(|item| place(item, folder)),
        Value::Object(map) => map.values_mut().for_each(|item| place(item, folder)),
        _ => {}
    }
}

fn placed(text: &str, folder: &str) -> String {
    let mut pieces = text.split(folder).peekable();
    let mut made = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let goes_on = piece.starts_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.'));
        made.push_str(if goes_on { folder } else { FOLDER });
        made.push_str(piece);
    }
    made
}

#[cfg(test)]
#[path = "recording_writer_tests.rs"]
mod tests;
