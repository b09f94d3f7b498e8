//! Playing a recording into a state: pure, with time as an argument.
//!
//! Long silences are shortened; going back folds the events anew, so a state never runs backwards.

use super::Recording;
use crate::amounts;
use crate::state::ScreenState;
use cycle::{EventKind, LoopEvent};

/// Nobody watches a model think for ten minutes twice.
const SILENCE_MAX_MS: u64 = 2_000;
const SEEK_MS: u64 = 10_000;
/// In quarters of real time.
const SPEEDS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const NORMAL: usize = 2;

/// What a person wants of the player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    Toggle,
    Back,
    On,
    PreviousIteration,
    NextIteration,
    /// To so many tenths of the recording.
    Tenth(u8),
    Slower,
    Faster,
}

/// What the screen shows of the player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playing {
    position: u64,
    length: u64,
    quarters: u64,
    paused: bool,
}

impl Playing {
    pub fn words(&self) -> String {
        let (position, length) = (amounts::clock(self.position), amounts::clock(self.length));
        let speed = match self.quarters {
            1 => "¼".to_owned(),
            2 => "½".to_owned(),
            quarters => (quarters / 4).to_string(),
        };
        let mark = if self.position >= self.length {
            "end of the recording"
        } else if self.paused {
            "paused"
        } else {
            "replay"
        };
        format!("{mark}  {position} of {length}  ×{speed}")
    }
}

pub struct Player {
    events: Vec<LoopEvent>,
    /// When each event is due, silences shortened.
    due: Vec<u64>,
    /// The first event that was not shown yet.
    next: usize,
    position: u64,
    /// Time shorter than a millisecond at slow speeds.
    rest: u64,
    speed: usize,
    paused: bool,
}

impl Player {
    pub fn new(recording: Recording) -> Self {
        let events = recording.into_events();
        let mut position = 0;
        let mut before = events.first().map_or(0, |event| event.at);
        let due = events.iter().map(|event| {
            position += event.at.saturating_sub(before).min(SILENCE_MAX_MS);
            before = before.max(event.at);
            position
        });
        let due = due.collect();
        Self { events, due, next: 0, position: 0, rest: 0, speed: NORMAL, paused: false }
    }

    fn length(&self) -> u64 {
        self.due.last().copied().unwrap_or(0)
    }

    pub fn at_end(&self) -> bool {
        self.next == self.events.len()
    }

    /// Real time passed. Says whether the state changed.
    pub fn step(&mut self, state: &mut ScreenState, real_ms: u64) -> bool {
        if !self.paused && !self.at_end() {
            let quarters = real_ms.saturating_mul(SPEEDS[self.speed]).saturating_add(self.rest);
            self.rest = quarters % 4;
            self.position = self.position.saturating_add(quarters / 4).min(self.length());
        }
        self.show(state)
    }

    pub fn control(&mut self, state: &mut ScreenState, control: Control) {
        match control {
            Control::Toggle if self.at_end() => self.seek(state, 0),
            Control::Toggle => self.paused = !self.paused,
            Control::Back => self.seek(state, self.position.saturating_sub(SEEK_MS)),
            Control::On => self.seek(state, self.position.saturating_add(SEEK_MS)),
            Control::PreviousIteration => self.seek(state, self.previous_iteration()),
            Control::NextIteration => self.seek(state, self.next_iteration()),
            Control::Tenth(tenths) => self.seek(state, self.length() / 10 * u64::from(tenths)),
            Control::Slower => self.speed = self.speed.saturating_sub(1),
            Control::Faster => self.speed = (self.speed + 1).min(SPEEDS.len() - 1),
        }
        self.show(state);
    }

    fn seek(&mut self, state: &mut ScreenState, position: u64) {
        if position < self.position {
            state.forget_run();
            self.next = 0;
        }
        self.position = position.min(self.length());
        self.rest = 0;
    }

    fn starts(&self) -> impl DoubleEndedIterator<Item = u64> {
        let starts = |kind: &EventKind| matches!(kind, EventKind::IterationStarted(_));
        self.events.iter().zip(&self.due).filter(move |(event, _)| starts(&event.kind)).map(|(_, due)| *due)
    }

    fn next_iteration(&self) -> u64 {
        self.starts().find(|due| *due > self.position).unwrap_or(self.length())
    }

    /// Shortly after a start, the one before it is meant.
    fn previous_iteration(&self) -> u64 {
        let before = self.position.saturating_sub(SILENCE_MAX_MS / 2);
        self.starts().rev().find(|due| *due < before).unwrap_or(0)
    }

    fn show(&mut self, state: &mut ScreenState) -> bool {
        let from = self.next;
        while let Some(event) = self.events.get(self.next).filter(|_| self.due[self.next] <= self.position) {
            state.apply(event);
            self.next += 1;
        }
        if let Some(last) = self.next.checked_sub(1) {
            // Clocks on the screen go on between two events, by the recording's time.
            let since = self.position.saturating_sub(self.due[last]);
            state.tick(self.events[last].at.saturating_add(since));
        }
        let playing = Playing {
            position: self.position,
            length: self.length(),
            quarters: SPEEDS[self.speed],
            paused: self.paused,
        };
        let words_before = state.playing.as_ref().map(Playing::words);
        let changed = from != self.next || words_before != Some(playing.words());
        state.playing = Some(playing);
        changed
    }
}

#[cfg(test)]
#[path = "player_tests.rs"]
mod tests;
