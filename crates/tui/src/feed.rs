//! The feed: events as entries to show, bounded in number and in bytes, oldest dropped first.
//!
//! Deliberately absent: how an entry looks (`lines`) and how events become entries (`state`).

use crate::clean;
use crate::tool::Tool;
use cycle::{Question, Receipt, RunVerdict};
use std::collections::VecDeque;

/// More than anybody scrolls back; the recording has the rest.
const ENTRIES_MAX: usize = 4_000;
/// All texts together; keeps a night's run at the size of its first hour.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Pieces of speech come to entries near the end; looking further for each would cost a replay seconds.
const RECENT: usize = 64;
/// One text. What exceeds it loses its beginning, because the end is what is being read.
pub const TEXT_MAX: usize = 512 * 1024;
/// A text over the bound is cut to this, so that not every further piece moves it.
const TEXT_KEPT: usize = 384 * 1024;
/// Of a text that still grows, what is laid out: it is laid out anew with every piece.
pub const GROWING_SHOWN: usize = 48 * 1024;

#[derive(Debug, Clone)]
pub struct Entry {
    /// Grows by one; names the entry even after older ones are dropped.
    pub id: u64,
    pub iteration: u32,
    pub body: Body,
    /// Chosen by a person; none means the usual for its kind.
    pub open: Option<bool>,
}

#[derive(Debug, Clone)]
pub enum Body {
    Iteration {
        attempt: u32,
        model: String,
        strategy: Option<String>,
    },
    Speech(Speech),
    Tool(Box<Tool>),
    Check(Check),
    /// Something a reader may want to know.
    Note(String),
    Warning(String),
    /// A person's words.
    Person(String),
    Question {
        question: Box<Question>,
        answered: bool,
    },
    Receipt(Box<Receipt>),
    Verdict(Box<RunVerdict>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    pub text: String,
    pub thinking: bool,
    /// More of it is to come.
    pub growing: bool,
    /// The tool call whose sub-agent speaks.
    pub parent: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Check {
    pub command: String,
    pub started: u64,
    /// The end of what it has printed so far.
    pub printing: String,
    pub done: Option<CheckDone>,
}

#[derive(Debug, Clone)]
pub struct CheckDone {
    pub passed: bool,
    pub exit_code: i32,
    pub output: String,
    pub duration_ms: u64,
}

impl Body {
    fn bytes(&self) -> usize {
        let texts = match self {
            Self::Iteration { model, strategy, .. } => model.len() + strategy.as_ref().map_or(0, String::len),
            Self::Speech(speech) => speech.text.len(),
            Self::Tool(tool) => tool.bytes(),
            Self::Check(check) => {
                check.command.len() + check.printing.len() + check.done.as_ref().map_or(0, |done| done.output.len())
            }
            Self::Note(text) | Self::Warning(text) | Self::Person(text) => text.len(),
            Self::Question { question, .. } => question.text.len(),
            Self::Receipt(receipt) => receipt.summary.len(),
            Self::Verdict(verdict) => verdict.reason.len(),
        };
        texts + size_of::<Entry>()
    }
}

impl Entry {
    /// What a search looks through.
    pub fn plain(&self) -> String {
        match &self.body {
            Body::Iteration { model, .. } => format!("iteration {} {model}", self.iteration),
            Body::Speech(speech) => speech.text.clone(),
            Body::Tool(tool) => tool.plain(),
            Body::Check(check) => {
                format!("{} {}", check.command, check.done.as_ref().map_or("", |done| done.output.as_str()))
            }
            Body::Note(text) | Body::Warning(text) | Body::Person(text) => text.clone(),
            Body::Question { question, .. } => format!("{} {}", question.text, question.options.join(" ")),
            Body::Receipt(receipt) => receipt.summary.clone(),
            Body::Verdict(verdict) => format!("{} {}", verdict.verdict.word(), verdict.reason),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Feed {
    entries: VecDeque<Entry>,
    next_id: u64,
    bytes: usize,
}

impl Feed {
    pub fn push(&mut self, iteration: u32, body: Body) {
        self.bytes += body.bytes();
        self.entries.push_back(Entry { id: self.next_id, iteration, body, open: None });
        self.next_id += 1;
        self.trim();
    }

    /// Changes the newest entry that `find` accepts, keeping the bounds.
    pub fn change(&mut self, find: impl Fn(&Entry) -> bool, change: impl FnOnce(&mut Entry)) -> bool {
        self.change_within(usize::MAX, find, change)
    }

    /// As [`Feed::change`], looking at the newest [`RECENT`] entries only.
    pub fn change_recent(&mut self, find: impl Fn(&Entry) -> bool, change: impl FnOnce(&mut Entry)) -> bool {
        self.change_within(RECENT, find, change)
    }

    fn change_within(&mut self, reach: usize, find: impl Fn(&Entry) -> bool, change: impl FnOnce(&mut Entry)) -> bool {
        let Some(entry) = self.entries.iter_mut().rev().take(reach).find(|entry| find(entry)) else { return false };
        let before = entry.body.bytes();
        change(entry);
        if let Body::Speech(speech) = &mut entry.body
            && speech.text.len() > TEXT_MAX
        {
            speech.text = format!("…{}", clean::tail(&speech.text, TEXT_KEPT));
        }
        self.bytes = (self.bytes + entry.body.bytes()).saturating_sub(before);
        self.trim();
        true
    }

    fn trim(&mut self) {
        while self.entries.len() > 1 && (self.entries.len() > ENTRIES_MAX || self.bytes > BYTES_MAX) {
            if let Some(entry) = self.entries.pop_front() {
                self.bytes = self.bytes.saturating_sub(entry.body.bytes());
            }
        }
    }

    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// The newest [`RECENT`], newest first.
    pub fn recent(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev().take(RECENT)
    }

    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// Where the entry is, or the oldest that is left where it was dropped.
    pub fn position(&self, id: u64) -> usize {
        let first = self.entries.front().map_or(0, |entry| entry.id);
        (id.saturating_sub(first) as usize).min(self.entries.len().saturating_sub(1))
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut Entry> {
        let position = self.position(id);
        self.entries.get_mut(position).filter(|entry| entry.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speech(text: String) -> Body {
        Body::Speech(Speech { text, thinking: false, growing: true, parent: None })
    }

    #[test]
    fn old_entries_make_room() {
        let mut feed = Feed::default();
        for at in 0..ENTRIES_MAX + 5 {
            feed.push(1, Body::Note(at.to_string()));
        }
        assert_eq!((feed.entries().len(), feed.entries()[0].id, feed.position(0)), (ENTRIES_MAX, 5, 0));
        assert!(feed.get_mut(2).is_none(), "a dropped entry is not another one");
    }

    #[test]
    fn bytes_are_bounded() {
        let mut feed = Feed::default();
        for _ in 0..BYTES_MAX / TEXT_MAX * 2 {
            feed.push(1, speech("x".repeat(TEXT_MAX)));
        }
        assert!(feed.bytes <= BYTES_MAX && feed.entries().len() > 10);
        assert_eq!(feed.bytes, feed.entries().iter().map(|entry| entry.body.bytes()).sum::<usize>());
    }

    #[test]
    fn a_text_without_end_keeps_its_end() {
        let mut feed = Feed::default();
        feed.push(1, speech(String::new()));
        for at in 0..30_000 {
            feed.change(
                |_| true,
                |entry| {
                    if let Body::Speech(speech) = &mut entry.body {
                        speech.text.push_str(&format!(" {at}"));
                    }
                },
            );
        }
        let Body::Speech(speech) = &feed.entries()[0].body else { panic!("not a speech") };
        assert!(speech.text.len() <= TEXT_MAX && speech.text.ends_with(" 29999"));
    }
}
