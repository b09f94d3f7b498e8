//! The parts of files that the model has seen, so that edits are based on the current contents.
//!
//! Deliberately absent: content. Only states of files and line ranges are kept.

use crate::stamp::Stamp;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A conversation that touches more files forgets the one it saw longest ago; the model reads it again.
const MAX_FILES: usize = 4096;
/// Views of one file that do not touch; past this the file just counts as partly seen.
const MAX_SPANS: usize = 256;

/// Shared by everything that runs in one conversation.
#[derive(Debug, Clone, Default)]
pub struct ReadLog(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    seen: HashMap<PathBuf, Entry>,
    /// Read or changed since [`ReadLog::take_touched`] was last asked, each once.
    touched: Vec<PathBuf>,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    /// First and last line, 1-based, sorted, not touching each other.
    spans: Vec<(usize, usize)>,
    whole: bool,
    /// The arguments of Read calls that were answered in full since the content was last forgotten.
    asked: Vec<Range>,
    at: u64,
}

/// What a Read call asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub offset: Option<usize>,
    pub limit: Option<usize>,
}

/// What is known about a file the model has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub stamp: Stamp,
    pub whole: bool,
}

impl ReadLog {
    /// Lines `first..=last` of `total` were shown. Views add up while the file stays the same.
    pub fn viewed(&self, real: &Path, stamp: Stamp, lines: (usize, usize), total: usize) {
        self.update(real, stamp, |entry| {
            add_span(&mut entry.spans, lines);
            entry.whole |= entry.spans.first().is_some_and(|&(first, last)| first <= 1 && last >= total);
        });
    }

    /// The whole content is known: it was written by the model, or seen in one go.
    pub fn known(&self, real: &Path, stamp: Stamp) {
        self.update(real, stamp, |entry| entry.whole = true);
    }

    /// The model changed a part of the file, from one state to the next. It now knows as much of it as
    /// before; of a state it had not seen, nothing.
    pub fn edited(&self, real: &Path, before: &Stamp, after: Stamp) {
        let mut entries = self.lock();
        entries.touch(real);
        let Some(entry) = entries.seen.get_mut(real) else { return };
        if !entry.stamp.same_state(before) {
            entry.whole = false;
            entry.spans.clear();
        }
        entry.stamp = after;
        entry.asked.clear();
    }

    /// Remembers a Read call that was answered in full, for [`Self::repeats`].
    pub fn answered(&self, real: &Path, stamp: Stamp, range: Range) {
        self.update(real, stamp, |entry| {
            if !entry.asked.contains(&range) && entry.asked.len() < MAX_SPANS {
                entry.asked.push(range);
            }
        });
    }

    pub fn seen(&self, real: &Path) -> Option<Seen> {
        let entries = self.lock();
        entries.seen.get(real).map(|entry| Seen { stamp: entry.stamp, whole: entry.whole })
    }

    /// The same Read call was answered in full before and the file has not changed since.
    pub fn repeats(&self, real: &Path, stamp: &Stamp, range: Range) -> bool {
        let entries = self.lock();
        entries.seen.get(real).is_some_and(|entry| entry.stamp.same_state(stamp) && entry.asked.contains(&range))
    }

    /// To be called when the conversation was compacted: earlier answers are no longer in front of the
    /// model, so it must get them in full again. What was read still counts as read.
    pub fn forget_answers(&self) {
        self.lock().seen.values_mut().for_each(|entry| entry.asked.clear());
    }

    /// The files that were read or changed since the last time this was asked.
    pub fn take_touched(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.lock().touched)
    }

    fn update(&self, real: &Path, stamp: Stamp, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.lock();
        entries.touch(real);
        entries.clock += 1;
        let at = entries.clock;
        entries.make_room_for(real);
        let fresh = || Entry { stamp, spans: Vec::new(), whole: false, asked: Vec::new(), at };
        let entry = entries.seen.entry(real.to_owned()).or_insert_with(fresh);
        if !entry.stamp.same_state(&stamp) {
            *entry = fresh();
        }
        entry.at = at;
        change(entry);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn touch(&mut self, real: &Path) {
        if self.touched.len() < MAX_FILES && !self.touched.iter().any(|known| known == real) {
            self.touched.push(real.to_owned());
        }
    }

    fn make_room_for(&mut self, real: &Path) {
        if self.seen.len() < MAX_FILES || self.seen.contains_key(real) {
            return;
        }
        let oldest = self.seen.iter().min_by_key(|(_, entry)| entry.at).map(|(path, _)| path.clone());
        if let Some(oldest) = oldest {
            self.seen.remove(&oldest);
        }
    }
}

fn add_span(spans: &mut Vec<(usize, usize)>, (first, last): (usize, usize)) {
    spans.push((first, last));
    spans.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::with_capacity(spans.len());
    for &(first, last) in spans.iter() {
        match joined.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined.truncate(MAX_SPANS);
    *spans = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { dev: 1, ino: 2, size, modified: (3, 4), mode: 0, uid: 0, gid: 0 }
    }

    #[test]
    fn pages_add_up_to_the_whole_file() {
        let log = ReadLog::default();
        let path = Path::new("/a");
        for (lines, whole) in [((5, 9), false), ((1, 3), false), ((4, 4), true)] {
            log.viewed(path, stamp(1), lines, 9);
            assert_eq!(log.seen(path), Some(Seen { stamp: stamp(1), whole }), "{lines:?}");
        }
    }

    #[test]
    fn a_changed_file_is_seen_afresh() {
        let log = ReadLog::default();
        let path = Path::new("/a");
        log.viewed(path, stamp(1), (1, 9), 9);
        log.answered(path, stamp(1), Range::default());
        assert!(log.repeats(path, &stamp(1), Range::default()));
        assert!(!log.repeats(path, &stamp(2), Range::default()));
        log.viewed(path, stamp(2), (1, 2), 9);
        assert_eq!(log.seen(path).map(|seen| seen.whole), Some(false));
        assert!(!log.repeats(path, &stamp(2), Range::default()));
    }

    #[test]
    fn after_compaction_answers_are_given_again_but_reads_count() {
        let log = ReadLog::default();
        let path = Path::new("/a");
        log.viewed(path, stamp(1), (1, 9), 9);
        log.answered(path, stamp(1), Range::default());
        log.forget_answers();
        assert!(!log.repeats(path, &stamp(1), Range::default()));
        assert_eq!(log.seen(path).map(|seen| seen.whole), Some(true));
    }

    #[test]
    fn what_was_touched_is_told_once() {
        let log = ReadLog::default();
        log.viewed(Path::new("/a"), stamp(1), (1, 2), 9);
        log.known(Path::new("/a"), stamp(1));
        log.edited(Path::new("/b"), &stamp(1), stamp(2));
        assert_eq!(log.take_touched(), [Path::new("/a"), Path::new("/b")]);
        assert!(log.take_touched().is_empty());
    }

    #[test]
    fn the_log_stays_small() {
        let log = ReadLog::default();
        for n in 0..MAX_FILES + 10 {
            log.known(Path::new(&format!("/{n}")), stamp(1));
        }
        assert_eq!(log.lock().seen.len(), MAX_FILES);
        assert!(log.seen(Path::new("/3")).is_none());
        assert!(log.seen(Path::new(&format!("/{}", MAX_FILES + 9))).is_some());
    }
}
