//! Events on their way out, in the format that was asked for.
//!
//! Text prints the last answer; json the last result; the list and the stream print every
//! event as it happens. All formats are fed the same events.

use crate::ids::{ID_LENGTH, Ids};
use crate::secrets::Secrets;
use crate::writer::Writer;
use options::OutputFormat;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;
use wire::{Event, Outcome};

/// What leaves in one write at most, short of a single longer line: what an empty pipe takes (Linux: 16 pages of 4 KiB).
const TOGETHER_MAX: usize = 64 * 1024;

pub struct Output {
    format: OutputFormat,
    ascii: bool,
    session_id: RefCell<String>,
    ids: Ids,
    writer: Rc<dyn Writer>,
    events: Cell<u64>,
    results: Cell<u64>,
    /// Partial messages that leave in one write: they came in one read.
    together: RefCell<Vec<u8>>,
    last_result: RefCell<Option<Vec<u8>>>,
    /// Every event, whatever the format. A log that cannot be written is given up silently.
    debug: RefCell<Option<File>>,
    /// Not shown in it.
    secrets: Secrets,
}

impl Output {
    pub fn new(format: OutputFormat, ascii: bool, session_id: String, writer: Rc<dyn Writer>) -> Self {
        Self {
            format,
            ascii,
            session_id: RefCell::new(session_id),
            ids: Ids::seeded(),
            writer,
            events: Cell::new(0),
            results: Cell::new(0),
            together: RefCell::default(),
            last_result: RefCell::default(),
            debug: RefCell::default(),
            secrets: Secrets::default(),
        }
    }

    #[must_use]
    pub fn log_to(self, path: Option<&Path>) -> Self {
        if let Some(path) = path {
            let opened = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            *self.debug.borrow_mut() = opened.ok();
        }
        self
    }

    /// The log shows none of these.
    #[must_use]
    pub fn hiding(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    fn log(&self, line: &[u8]) {
        let mut debug = self.debug.borrow_mut();
        let Some(file) = debug.as_mut() else { return };
        let line = self.secrets.hide_text(&String::from_utf8_lossy(line));
        if file.write_all(line.as_bytes()).is_err() {
            *debug = None;
        }
    }

    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    pub fn session_id(&self) -> String {
        self.session_id.borrow().clone()
    }

    /// Later lines carry another session's id.
    pub fn rename_session(&self, id: String) {
        *self.session_id.borrow_mut() = id;
    }

    /// Shows transcript entries on the stream, for clients that keep a copy of their own.
    pub fn mirror(&self) -> Option<session::Mirror> {
        let (writer, ascii) = (Rc::clone(&self.writer), self.ascii);
        let show =
            move |path: &Path, line: &[u8]| writer.line_now(wire::encode_mirror(&path.to_string_lossy(), line, ascii));
        (self.format == OutputFormat::StreamJson).then(|| Rc::new(show) as session::Mirror)
    }

    pub fn writer(&self) -> &dyn Writer {
        &*self.writer
    }

    pub async fn send(&self, event: Event) {
        self.send_as(event, &self.ids.next()).await;
    }

    /// Sends with a given id: the transcript has the same one.
    pub async fn send_as(&self, event: Event, uuid: &str) {
        if self.debug.borrow().is_some() {
            self.log(&self.encode(&event, uuid));
        }
        self.flush().await;
        match self.format {
            OutputFormat::StreamJson => self.line(self.encode(&event, uuid)).await,
            OutputFormat::JsonList => self.list_item(self.encode(&event, uuid)).await,
            OutputFormat::Text | OutputFormat::Json => {}
        }
    }

    /// Sends a small event from a place that cannot wait.
    pub fn send_now(&self, event: &Event) {
        let line = self.encode(event, &self.ids.next());
        self.log(&line);
        match self.format {
            OutputFormat::StreamJson => self.writer.line_now(line),
            OutputFormat::JsonList => self.writer.line_now(self.as_item(&line)),
            OutputFormat::Text | OutputFormat::Json => {}
        }
    }

    /// Pieces of a streaming message that came together, bytes as the API sent them. Whole lines are gathered up to what
    /// an empty pipe takes at once, and leave now, unless more events follow without waiting.
    pub async fn partials(&self, pieces: &[impl AsRef<[u8]>], mut ttft_ms: Option<u64>, more: bool) {
        if !matches!(self.format, OutputFormat::StreamJson | OutputFormat::JsonList) {
            return;
        }
        let frame = wire::PARTIAL_FRAME + self.session_id.borrow().len();
        let expected: usize = pieces.iter().map(|piece| piece.as_ref().len() + frame).sum();
        self.together.borrow_mut().reserve(expected.min(TOGETHER_MAX));
        for piece in pieces {
            if let Some(lines) = self.gather(piece.as_ref(), ttft_ms.take()) {
                self.line(lines).await;
            }
        }
        if !more {
            self.flush().await;
        }
    }

    /// One more line for those that leave together. What was there before comes out where both would be too much.
    fn gather(&self, raw: &[u8], ttft_ms: Option<u64>) -> Option<Vec<u8>> {
        let mut lines = self.together.borrow_mut();
        let before = lines.len();
        if self.format == OutputFormat::JsonList {
            lines.push(self.separator());
        }
        let mut place = [0; ID_LENGTH];
        let uuid = self.ids.write(&mut place);
        wire::encode_partial(&mut lines, raw, &self.session_id.borrow(), uuid, ttft_ms, self.ascii);
        if lines.len() <= TOGETHER_MAX || before == 0 {
            return None;
        }
        let mut newest = Vec::with_capacity(TOGETHER_MAX);
        newest.extend(lines.drain(before..));
        Some(std::mem::replace(&mut *lines, newest))
    }

    async fn line(&self, line: Vec<u8>) {
        if let Some(line) = self.writer.try_line(line) {
            self.writer.wait_line(line).await;
        }
    }

    async fn flush(&self) {
        let lines = self.together.take();
        if !lines.is_empty() {
            self.line(lines).await;
        }
    }

    /// The one result of a turn.
    pub async fn result(&self, mut outcome: Outcome) {
        outcome.result_index = Some(self.results.replace(self.results.get() + 1));
        if self.format == OutputFormat::Text {
            let text = outcome.result.clone().unwrap_or_else(|| outcome.errors.clone().unwrap_or_default().join("\n"));
            let text = if self.writer.is_terminal() { wire::clean::block(&text) } else { text.into() };
            *self.last_result.borrow_mut() = Some(format!("{text}\n").into_bytes());
            mention_denials(&outcome.permission_denials);
            return;
        }
        let event = Event::Result(Box::new(outcome));
        let uuid = self.ids.next();
        if self.format == OutputFormat::Json {
            *self.last_result.borrow_mut() = Some(self.encode(&event, &uuid));
        } else {
            self.send_as(event, &uuid).await;
        }
    }

    /// Prints what a format keeps for the end, and waits until the reader has it.
    pub async fn finish(&self) {
        self.flush().await;
        let last = self.last_result.borrow_mut().take();
        if let Some(line) = last {
            self.line(line).await;
        }
        if self.format == OutputFormat::JsonList && self.events.get() > 0 {
            self.line(b"]\n".to_vec()).await;
        }
        self.writer.drain().await;
    }

    fn encode(&self, event: &Event, uuid: &str) -> Vec<u8> {
        wire::encode(event, &self.session_id.borrow(), uuid, self.ascii)
    }

    async fn list_item(&self, line: Vec<u8>) {
        self.line(self.as_item(&line)).await;
    }

    fn as_item(&self, line: &[u8]) -> Vec<u8> {
        let mut item = vec![self.separator()];
        item.extend_from_slice(line);
        item
    }

    /// What stands before an item of the list.
    fn separator(&self) -> u8 {
        let first = self.events.replace(self.events.get() + 1) == 0;
        if first { b'[' } else { b',' }
    }
}

/// Denials are easy to miss in plain text, where no event shows them.
fn mention_denials(denials: &[serde_json::Value]) {
    if denials.is_empty() {
        return;
    }
    let mut names: Vec<&str> = denials.iter().filter_map(|denial| denial["tool_name"].as_str()).collect();
    names.dedup();
    let names = names.join(", ");
    crate::stderr::warn(&format!("note: {} tool calls were not permitted ({names})", denials.len()));
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
