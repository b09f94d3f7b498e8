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
/// has its threads and buffers. Fewer where their lines are kept.
const BATCH: usize = 512;
const BATCH_MAX: usize = 16 * 1024;
const BATCH_MAX_LINES: usize = 2 * 1024;

/// Starting threads for fewer files costs more than it saves.
const MIN_PARALLEL: usize = 32;

/// A file, and what was found in it once it is searched.
struct Candidate {
    file: Found,
    hits: Option<Hits>,
}

impl Candidate {
    fn new(file: Found) -> Self {
        Self { file, hits: None }
    }
}

impl Search<'_> {
    pub(super) fn folder(&self, root: &OpenFolder, files: Vec<Found>, complete: bool) -> Findings {
        let mut findings = Findings { complete, ..Findings::default() };
        let mut left = files.into_iter();
        let mut found: Vec<Candidate> = Vec::new();
        let (mut entries, mut size) = (0, BATCH);
        while left.len() > 0 && entries < self.wanted() {
            let batch = self.batch(root, left.by_ref().take(size).map(Candidate::new).collect());
            entries += batch.iter().map(|candidate| self.entries(candidate)).sum::<usize>();
            found.extend(batch);
            if self.stop.now() {
                findings.complete = false;
                self.list(found, &mut findings);
                return findings;
            }
            size = self.larger(size);
        }
        if left.len() == 0 {
            self.list(found, &mut findings);
        } else {
            found.extend(dated(root, left.collect()));
            self.in_order(root, found, &mut findings);
        }
        findings
    }

    /// All of them were searched.
    fn list(&self, mut found: Vec<Candidate>, findings: &mut Findings) {
        self.sort(&mut found);
        for Candidate { file, hits } in found {
            if findings.entries.len() >= self.wanted() {
                return;
            }
            self.add(findings, &file.path, hits.unwrap_or_default());
        }
    }

    /// Some of them were searched.
    fn in_order(&self, root: &OpenFolder, mut candidates: Vec<Candidate>, findings: &mut Findings) {
        self.sort(&mut candidates);
        let mut left = candidates.into_iter();
        let mut size = BATCH;
        while left.len() > 0 && findings.entries.len() < self.wanted() {
            for Candidate { file, hits } in self.batch(root, left.by_ref().take(size).collect()) {
                self.add(findings, &file.path, hits.unwrap_or_default());
            }
            if self.stop.now() {
                findings.complete = false;
                return;
            }
            size = self.larger(size);
        }
    }

    fn sort(&self, candidates: &mut [Candidate]) {
        let order = match self.input.output_mode {
            Mode::FilesWithMatches => Found::newest_first,
            Mode::Content | Mode::Count => Found::by_folder,
        };
        candidates.sort_unstable_by(|a, b| order(&a.file, &b.file));
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
        let most = if self.input.output_mode == Mode::Content { BATCH_MAX_LINES } else { BATCH_MAX };
        (size * 2).min(most)
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

fn dated(root: &OpenFolder, mut files: Vec<Found>) -> Vec<Candidate> {
    let share = files.len().div_ceil(walk::threads()).max(MIN_PARALLEL);
    std::thread::scope(|scope| {
        for share in files.chunks_mut(share) {
            scope.spawn(|| {
                for file in share {
                    // One that vanished meanwhile cannot be opened either.
                    if let Ok(stat) = root.stat(&file.path) {
                        file.date(&stat);
                    }
                }
            });
        }
    });
    files.into_iter().map(Candidate::new).collect()
}
