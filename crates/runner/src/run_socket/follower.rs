//! A recording as numbered events, during the run and after it. The number of an event is that of its line, and its place among
//! the events of that line: it never changes, whoever reads.

use super::protocol::LINE_MAX;
use crate::replay::recorded_text;
use cycle::{EventKind, LoopEvent, OutputReader, Price};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub struct NumberedEvent {
    /// The line in `events.ndjson`, from 1.
    pub seq: u64,
    /// Among the events of that line, from 0.
    pub index: u32,
    pub event: LoopEvent,
}

/// Reads as far as the recording goes, and further when it grows.
pub struct Follower {
    file: BufReader<File>,
    price: Price,
    reader: OutputReader,
    /// The last whole line that was read.
    seq: u64,
    line: Vec<u8>,
    /// The line is longer than any that we keep.
    is_too_long: bool,
    ready: VecDeque<NumberedEvent>,
    from: (u64, u32),
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("seq", &self.seq).field("from", &self.from).finish_non_exhaustive()
    }
}

impl Follower {
    /// From an event on: a line, and an index in it.
    pub fn open(events: &Path, price: Price, from: (u64, u32)) -> io::Result<Self> {
        let mut follower = Self {
            file: BufReader::new(crate::files::existing(events)?),
            price,
            reader: OutputReader::priced(1, "", price),
            seq: 0,
            line: Vec::new(),
            is_too_long: false,
            ready: VecDeque::new(),
            from,
        };
        follower.skip()?;
        Ok(follower)
    }

    /// From the beginning of the last iteration on, or from the first line where there is none.
    pub fn last_iteration(events: &Path, price: Price) -> io::Result<Self> {
        let mut follower = Self::open(events, price, (u64::MAX, 0))?;
        follower.from = (follower.seq + 1, 0);
        Ok(follower)
    }

    /// The last line that was read.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The next event; `None` where the recording has no further whole line yet.
    pub fn next_event(&mut self) -> io::Result<Option<NumberedEvent>> {
        loop {
            if let Some(numbered) = self.ready.pop_front() {
                return Ok(Some(numbered));
            }
            if !self.read_line()? {
                return Ok(None);
            }
            self.take_line();
        }
    }

    /// To the beginning of the iteration that the first wanted line is in: what is derived depends on that, and on
    /// nothing before it.
    fn skip(&mut self) -> io::Result<()> {
        let (mut start, mut offset) = ((0, 0), 0);
        while self.seq + 1 < self.from.0 && self.read_line()? {
            let length = self.line.len() as u64 + 1;
            if begins_iteration(&self.line) {
                start = (offset, self.seq - 1);
            }
            // A line that was cut here is longer in the file: then the beginning is where we start.
            if std::mem::take(&mut self.is_too_long) {
                start = (0, 0);
                break;
            }
            offset += length;
            self.line.clear();
        }
        self.line.clear();
        self.file.seek(SeekFrom::Start(start.0))?;
        self.seq = start.1;
        Ok(())
    }

    /// Whether a whole line is there now. A part of one is kept for the next time.
    fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.file.fill_buf()?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(available.len());
            if self.line.len() + taken > LINE_MAX {
                self.is_too_long = true;
                self.line.clear();
            } else if !self.is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.file.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                self.seq += 1;
                return Ok(true);
            }
        }
    }

    fn take_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        if let Ok(event) = LoopEvent::parse(&text) {
            for (index, event) in (0..).zip(self.events_of(event)) {
                if (self.seq, index) >= self.from {
                    self.ready.push_back(NumberedEvent { seq: self.seq, index, event });
                }
            }
        }
        // The room of a long line serves the next one.
        self.line = line;
        self.line.clear();
    }

    /// The events of a line in their order, as a replay has them.
    fn events_of(&mut self, event: LoopEvent) -> Vec<LoopEvent> {
        let at = event.at;
        let derived = |kinds: Vec<EventKind>| kinds.into_iter().map(move |kind| kind.at(at));
        match &event.kind {
            EventKind::IterationStarted(start) => {
                self.reader = OutputReader::priced(start.iteration, &start.model, self.price);
                vec![event]
            }
            EventKind::IterationEnded { .. } => derived(self.reader.end()).chain([event]).collect(),
            EventKind::Agent { line, .. } => {
                let output = self.reader.read_line(&recorded_text(line));
                std::iter::once(event).chain(derived(output)).collect()
            }
            _ => vec![event],
        }
    }
}

/// By its first bytes: `{"at":…,"type":"…`.
fn begins_iteration(line: &[u8]) -> bool {
    const HEAD: usize = 64;
    let head = String::from_utf8_lossy(&line[..line.len().min(HEAD)]);
    head.contains("\"type\":\"iteration_started\"")
}

#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
