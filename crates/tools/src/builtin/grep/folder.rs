//! A folder searched: in which order its files are opened, and when enough was found.
//!
//! What is found is shown in the order of the files' times, and a time costs a call for each file. So files are at first searched
//! as the walk found them: whoever opens a file learns its time, and where little is found all of them are opened anyway. Once
//! there is enough for a page, the files that are left get their times, and are searched in order as far as the page needs them.

use super::search::{self, Hits};
use super::{Findings, Mode, Search};
use crate::walk::{self, Found};
use crate::workspace::open::OpenFolder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Files searched before looking whether enough was found. Where little is found, each time twice as many: every time
/// has its threads and buffers. Not where their lines are kept, which would be too much to keep.
const BATCH: usize = 512;
const BATCH_MAX: usize = 16 * 1024;

/// Starting threads for fewer files costs more than it saves.
const MIN_PARALLEL: usize = 32;

/// A file, and what was found in it once it is searched.
struct Candidate {
    file: Found,
    hits: Option<Hits>,
}

impl From<Found> for Candidate {
    fn from(file: Found) -> Self {
        Self { file, hits: None }
    }
}

impl Search<'_> {
    pub(super) fn folder(&self, root: &OpenFolder, files: Vec<Found>, complete: bool) -> Findings {
        let mut findings = Findings { complete, ..Findings::default() };
        let mut left = files.into_iter();
        let mut found: Vec<Candidate> = Vec::new();
        let (mut entries, mut size, mut is_late) = (0, BATCH, false);
        while left.len() > 0 && entries < self.wanted() && !is_late {
            let batch = self.batch(root, left.by_ref().take(size).map(Candidate::from).collect());
            entries += batch.iter().map(|candidate| self.entries(candidate)).sum::<usize>();
            found.extend(batch);
            (size, is_late) = (self.larger(size), self.stop.now());
        }
        if is_late {
            findings.complete = false;
        } else {
            found.extend(left.map(|file| dated(root, file)));
        }
        self.in_order(root, found, &mut findings);
        findings
    }

    fn in_order(&self, root: &OpenFolder, mut candidates: Vec<Candidate>, findings: &mut Findings) {
        let order = match self.input.output_mode {
            Mode::FilesWithMatches => Found::newest_first,
            Mode::Content | Mode::Count => Found::by_folder,
        };
        candidates.sort_unstable_by(|a, b| order(&a.file, &b.file));
        let (mut left, mut size) = (candidates.into_iter(), BATCH);
        while left.len() > 0 && findings.entries.len() < self.wanted() {
            let mut batch: Vec<Candidate> = left.by_ref().take(size).collect();
            let is_searched = batch.iter().all(|candidate| candidate.hits.is_some());
            if !is_searched {
                batch = self.batch(root, batch);
            }
            for Candidate { file, hits } in batch {
                self.add(findings, &file.path, hits.unwrap_or_default());
            }
            if !is_searched && self.stop.now() {
                findings.complete = false;
                return;
            }
            size = self.larger(size);
        }
    }

    /// Entries after which there is no need to go on. A total over all matches is part of a count.
    fn wanted(&self) -> usize {
        match self.input.output_mode {
            Mode::Count => usize::MAX,
            Mode::FilesWithMatches | Mode::Content => self.input.enough(),
        }
    }

    fn entries(&self, candidate: &Candidate) -> usize {
        match self.input.output_mode {
            Mode::Content => candidate.hits.as_ref().map_or(0, |hits| hits.lines.len()),
            Mode::FilesWithMatches | Mode::Count => 1,
        }
    }

    fn larger(&self, size: usize) -> usize {
        if self.input.output_mode == Mode::Content { size } else { (size * 2).min(BATCH_MAX) }
    }

    /// Those in which something was found, in the same order. Those that are not searched yet are.
    fn batch(&self, root: &OpenFolder, mut batch: Vec<Candidate>) -> Vec<Candidate> {
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let work = || {
            let mut searcher = search::searcher(self.style);
            let mut mine = Vec::new();
            while let Some((index, candidate)) = Some(next.fetch_add(1, Ordering::Relaxed))
                .and_then(|index| Some((index, batch.get(index)?)))
                .filter(|_| !self.stop.now())
            {
                if candidate.hits.is_some() {
                    continue;
                }
                let path = &candidate.file.path;
                // A file that vanished, or may not be read, has no lines to show; ripgrep only warns, too.
                let Ok((file, stat)) = root.open_found(path) else { continue };
                let hits = self.search(&mut searcher, path, &file).unwrap_or_default();
                if hits.count > 0 {
                    mine.push((index, stat, hits));
                }
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).extend(mine);
        };
        let helpers = if batch.len() < MIN_PARALLEL { 0 } else { walk::threads() - 1 };
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(work);
            }
            work();
        });
        for (index, stat, hits) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            batch[index].file.date(&stat);
            batch[index].hits = Some(hits);
        }
        batch.retain(|candidate| candidate.hits.is_some());
        batch
    }
}

fn dated(root: &OpenFolder, mut file: Found) -> Candidate {
    // One that vanished meanwhile cannot be opened either.
    if let Ok(stat) = root.stat(&file.path) {
        file.date(&stat);
    }
    file.into()
}
