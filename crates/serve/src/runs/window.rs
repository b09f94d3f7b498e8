//! The newest events of a recording in memory, as the text that streams send. Old ones are forgotten; a reader that is behind them reads
//! the recording itself.

use super::numbered::{Position, Selection, is_partial, streamed};
use bytes::{Bytes, BytesMut};
use runner::run_socket::NumberedEvent;
use std::collections::VecDeque;

/// Of the texts that are kept, for each run that has readers.
pub const WINDOW_MAX: usize = 4 * 1024 * 1024;
/// Of what a reader is sent at once. One event that is longer is sent as a whole.
pub const PIECE_MAX: usize = 32 * 1024;

#[derive(Debug, Default)]
pub struct Window {
    events: VecDeque<KeptEvent>,
    bytes: usize,
    /// Everything from here on was kept; `None` before the recording was opened.
    from: Option<Position>,
    ended: Option<Bytes>,
}

#[derive(Debug)]
struct KeptEvent {
    at: Position,
    is_partial: bool,
    plain: Option<String>,
    derived: Option<String>,
}

impl KeptEvent {
    fn new(numbered: &NumberedEvent) -> Self {
        let text = |derived| Selection { derived, is_live: true }.wants(numbered).then(|| streamed(numbered, derived));
        Self {
            at: (numbered.seq, numbered.index),
            is_partial: is_partial(numbered),
            plain: text(false),
            derived: text(true),
        }
    }

    fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>() + text(&self.plain) + text(&self.derived)
    }

    fn text(&self, selection: Selection) -> Option<&str> {
        let text = if selection.derived { &self.derived } else { &self.plain };
        text.as_deref().filter(|_| selection.is_live || !self.is_partial)
    }
}

/// What a window has for a reader.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// The recording is not open yet.
    Later,
    /// The reader is behind what is kept.
    Forgotten,
    /// Events, possibly none; where the reader goes on; and what is behind them.
    Events { text: Bytes, next: Position, rest: Rest },
}

#[derive(Debug, PartialEq)]
pub enum Rest {
    More,
    /// Nothing until the recording grows.
    Nothing,
    /// Nothing, ever: the last event of the stream.
    End(Bytes),
}

impl Window {
    pub fn open(&mut self, from: Position) {
        self.from = Some(from);
    }

    pub fn push(&mut self, numbered: &NumberedEvent) {
        let kept = KeptEvent::new(numbered);
        self.bytes += kept.size();
        self.events.push_back(kept);
        while self.bytes > WINDOW_MAX {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.size();
            self.from = Some((oldest.at.0, oldest.at.1.saturating_add(1)));
        }
    }

    pub fn end(&mut self, last: Bytes) {
        // A recording that could not be opened has an end, too.
        self.from.get_or_insert((0, 0));
        self.ended = Some(last);
    }

    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    pub fn piece(&self, position: Position, selection: Selection) -> Piece {
        match self.from {
            None => return Piece::Later,
            Some(from) if position < from => return Piece::Forgotten,
            Some(_) => {}
        }
        let (mut text, mut next) = (BytesMut::new(), position);
        let first = self.events.partition_point(|event| event.at < position);
        for event in self.events.range(first..) {
            let wanted = event.text(selection).unwrap_or_default();
            if !text.is_empty() && text.len() + wanted.len() > PIECE_MAX {
                return Piece::Events { text: text.freeze(), next, rest: Rest::More };
            }
            text.extend_from_slice(wanted.as_bytes());
            next = (event.at.0, event.at.1.saturating_add(1));
        }
        let rest = self.ended.clone().map_or(Rest::Nothing, Rest::End);
        Piece::Events { text: text.freeze(), next, rest }
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
