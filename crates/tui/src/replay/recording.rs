//! Reading what was recorded: our `events.ndjson`, a raw stream-json transcript, or JSON printed over
//! several lines with blank lines between.
//!
//! What cannot be read is skipped and counted, never fatal: a recording may end in the middle of a line.

use cycle::{EventKind, IterationStarted, LoopEvent, OutputReader, Price, Receipt, RunStarted, Verbatim};
use serde_json::Value;
use std::io::BufRead;

/// Far above any line an agent writes; beyond it a file is not a recording.
const DOCUMENT_MAX: usize = 32 * 1024 * 1024;
/// Raw transcripts have no times. These make them readable as they play.
const STEP_MS: u64 = 400;
const PIECE_STEP_MS: u64 = 40;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read the recording: {0}")]
    Io(#[from] std::io::Error),
    #[error("nothing in this file is a recorded event; a recording is an events.ndjson or a stream-json transcript")]
    Empty,
}

/// The events of a recording, digests included, in order.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    events: Vec<LoopEvent>,
    skipped: usize,
}

/// What is known of a recording that may not say it itself.
#[derive(Debug, Clone, Copy)]
pub struct RecordingContext<'a> {
    pub title: &'a str,
    /// Where it was made.
    pub folder: &'a str,
    /// What messages cost before an agent says so.
    pub price: Price,
}

impl Default for RecordingContext<'_> {
    fn default() -> Self {
        Self { title: "", folder: "", price: cycle::unpriced }
    }
}

impl Recording {
    pub fn read(mut from: impl BufRead, about: RecordingContext) -> Result<Self, ReadError> {
        let recording = Self::default();
        let mut maker = RecordingReader { about, recording, reader: None, raw: None };
        let mut document = String::new();
        while let Some(line) = next_line(&mut from)? {
            maker.line(&line, &mut document);
        }
        maker.document(&document);
        maker.finish_raw();
        if maker.recording.events.is_empty() { Err(ReadError::Empty) } else { Ok(maker.recording) }
    }

    pub fn events(&self) -> &[LoopEvent] {
        &self.events
    }

    pub fn into_events(self) -> Vec<LoopEvent> {
        self.events
    }

    /// Pieces of the file that were no events.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

/// The next line, however broken its characters; over-long ones come out empty.
fn next_line(from: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let limit = DOCUMENT_MAX as u64;
    if std::io::Read::take(&mut *from, limit).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.len() >= DOCUMENT_MAX && !bytes.ends_with(b"\n") {
        from.skip_until(b'\n')?;
        bytes.clear();
    }
    Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
}

struct RecordingReader<'a> {
    about: RecordingContext<'a>,
    recording: Recording,
    /// Hears the lines of the iteration that is being read.
    reader: Option<(u32, OutputReader)>,
    raw: Option<Raw>,
}

/// Where a transcript without a loop around it stands.
#[derive(Default)]
struct Raw {
    at: u64,
    iteration: u32,
    in_turn: bool,
    /// The session of the recorded process: its costs are one sum.
    session: String,
    cost_before: f64,
}

impl RecordingReader<'_> {
    /// A document is a line, or lines up to a blank one or to a bracket at the margin.
    fn line(&mut self, line: &str, document: &mut String) {
        let starts = line.starts_with('{');
        if starts || line.is_empty() {
            self.document(&std::mem::take(document));
        }
        if line.is_empty() {
            return;
        }
        if document.len() + line.len() > DOCUMENT_MAX {
            document.clear();
            self.recording.skipped += 1;
            return;
        }
        document.push_str(line);
        document.push('\n');
        if line.starts_with('}') || (starts && line.ends_with('}')) {
            self.document(&std::mem::take(document));
        }
    }

    fn document(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if let Ok(event) = LoopEvent::parse(text) {
            return self.loop_event(event);
        }
        match serde_json::from_str::<Value>(text) {
            // Ours, but of a later version: kinds that are not known are left out.
            Ok(value) if value["at"].is_u64() => self.recording.skipped += 1,
            Ok(value) if value["type"].is_string() => self.raw_event(&value, text),
            _ => self.recording.skipped += 1,
        }
    }

    fn loop_event(&mut self, event: LoopEvent) {
        match &event.kind {
            EventKind::Agent { iteration, line } => return self.agent_line(*iteration, line, event.at),
            EventKind::IterationStarted(start) => {
                self.end_reader(event.at);
                let reader = OutputReader::priced(start.iteration, &start.model, self.about.price);
                self.reader = Some((start.iteration, reader));
            }
            EventKind::IterationEnded { .. } => self.end_reader(event.at),
            _ => {}
        }
        self.recording.events.push(event);
    }

    fn agent_line(&mut self, iteration: u32, line: &Verbatim, at: u64) {
        if self.reader.as_ref().is_none_or(|(of, _)| *of != iteration) {
            self.reader = Some((iteration, OutputReader::priced(iteration, "", self.about.price)));
        }
        let Some((_, reader)) = &mut self.reader else { return };
        // A line that was no JSON is kept as a JSON string.
        let words = line.get().starts_with('"').then(|| line.value());
        let output = reader.read_line(words.as_ref().and_then(Value::as_str).unwrap_or(line.get()));
        self.output(output, at);
    }

    fn end_reader(&mut self, at: u64) {
        if let Some((_, mut reader)) = self.reader.take() {
            let last = reader.end();
            self.output(last, at);
        }
    }

    fn output(&mut self, kinds: Vec<EventKind>, at: u64) {
        self.recording.events.extend(kinds.into_iter().map(|kind| kind.at(at)));
    }

    fn raw_event(&mut self, event: &Value, text: &str) {
        let kind = event["type"].as_str().unwrap_or_default();
        let mut raw = self.raw.take().unwrap_or_default();
        raw.at += if kind == "stream_event" { PIECE_STEP_MS } else { STEP_MS };
        if !raw.in_turn {
            self.start_raw(&mut raw, event);
        }
        let compact = if text.contains('\n') { event.to_string() } else { text.to_owned() };
        if let Some((_, reader)) = &mut self.reader {
            let output = reader.read_line(&compact);
            self.output(output, raw.at);
        }
        if kind == "result" {
            self.end_raw(&mut raw, event);
        }
        self.raw = Some(raw);
    }

    fn start_raw(&mut self, raw: &mut Raw, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        if raw.iteration == 0 {
            let run = RunStarted {
                schema: cycle::SCHEMA,
                run: String::new(),
                folder: event["cwd"].as_str().unwrap_or(self.about.folder).to_owned(),
                title: self.about.title.to_owned(),
                backend: String::new(),
                model: text("model"),
                limits: cycle::RunLimits::default(),
                checks: Vec::new(),
                head: None,
                resumed: None,
                sandbox: None,
                unconfined: None,
                flags: serde_json::Map::new(),
            };
            self.recording.events.push(EventKind::RunStarted(Box::new(run)).at(raw.at));
        }
        raw.iteration += 1;
        raw.in_turn = true;
        if raw.session != text("session_id") {
            raw.session = text("session_id");
            raw.cost_before = 0.0;
        }
        let start = IterationStarted {
            iteration: raw.iteration,
            attempt: 1,
            model: text("model"),
            session: None,
            strategy: None,
            prompt_chars: 0,
        };
        self.recording.events.push(EventKind::IterationStarted(start).at(raw.at));
        let reader = OutputReader::priced(raw.iteration, &text("model"), self.about.price);
        self.reader = Some((raw.iteration, reader));
    }

    /// A process reports its cost as a sum over its turns.
    fn end_raw(&mut self, raw: &mut Raw, event: &Value) {
        raw.in_turn = false;
        let Some((_, reader)) = self.reader.take() else { return };
        let output = reader.into_output();
        let sum = output.cost_usd;
        let cost_usd = if sum >= raw.cost_before { sum - raw.cost_before } else { sum };
        raw.cost_before = sum;
        let receipt = Receipt {
            summary: output.final_text().to_owned(),
            cost_usd,
            tokens: output.tokens,
            duration_ms: event["duration_ms"].as_u64().unwrap_or(0),
            tool_calls: output.tool_calls,
            ..Receipt::default()
        };
        let ended = EventKind::IterationEnded { iteration: raw.iteration, receipt: Box::new(receipt) };
        self.recording.events.push(ended.at(raw.at));
    }

    /// A transcript that ends without a result, and agents that answer in plain text.
    fn finish_raw(&mut self) {
        let at = self.recording.events.last().map_or(0, |event| event.at);
        self.end_reader(at);
    }
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
