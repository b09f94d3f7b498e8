//! Finding files below a folder, on several threads, bounded in time and number, in a stable order.
//!
//! Symbolic links are not followed, so what is found lies where its path says.

use crate::worker::Stop;
use crate::workspace::open::OpenFolder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::Stat;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A search that finds more is not answered by listing; this many paths take some 50 MB.
const MAX_FILES: usize = 300_000;
/// More threads than this wait for the disk, not for each other.
const MAX_THREADS: usize = 8;
/// What version control keeps for itself.
const VCS_FOLDERS: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    folder_len: usize,
    modified: (i64, i64),
    ino: u64,
}

pub(crate) struct WalkResult {
    pub(crate) files: Vec<Found>,
    /// False if time or room ran out first.
    pub(crate) complete: bool,
}

pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// A walk that sees hidden files and stays out of version control's folders. The user's global ignore
/// file is left out: where it is, only the environment says, and this crate does not read that.
pub fn builder(root: &Path, cwd: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.threads(threads()).follow_links(false).hidden(false).git_global(false).current_dir(cwd);
    walk.filter_entry(|entry| entry.depth() == 0 || !VCS_FOLDERS.iter().any(|name| entry.file_name() == *name));
    walk
}

/// Every regular file that `keep` wants, with its time where the walk's root is given, open. Folders that cannot be read
/// are passed over.
pub(crate) fn collect(
    walk: &WalkBuilder,
    root: Option<&OpenFolder>,
    stop: &Stop,
    keep: impl Fn(&Path) -> bool + Sync,
) -> WalkResult {
    let kept = |entry: &DirEntry| is_file(entry) && keep(entry.path());
    let found = Mutex::new(Vec::new());
    let complete = AtomicBool::new(true);
    walk.build_parallel().run(|| {
        Box::new(|entry| {
            if stop.now() {
                complete.store(false, Relaxed);
                return WalkState::Quit;
            }
            let Some(file) = entry.ok().filter(kept).and_then(|entry| Found::of(entry, root)) else {
                return WalkState::Continue;
            };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.len() >= MAX_FILES {
                complete.store(false, Relaxed);
                return WalkState::Quit;
            }
            found.push(file);
            WalkState::Continue
        })
    });
    WalkResult { files: found.into_inner().unwrap_or_else(PoisonError::into_inner), complete: complete.into_inner() }
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

impl Found {
    fn of(entry: DirEntry, root: Option<&OpenFolder>) -> Option<Self> {
        let mut found = Self::new(entry.into_path(), (0, 0), 0);
        if let Some(root) = root {
            let stat = root.stat(&found.path).ok()?;
            found.date(&stat);
        }
        Some(found)
    }

    /// The orders below are those of files with their times.
    pub(crate) fn date(&mut self, stat: &Stat) {
        self.modified = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        self.ino = stat.st_ino;
    }

    fn new(path: PathBuf, modified: (i64, i64), ino: u64) -> Self {
        let folder_len = memchr::memrchr(b'/', path.as_os_str().as_encoded_bytes()).unwrap_or(0);
        Self { path, folder_len, modified, ino }
    }

    fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_encoded_bytes()
    }

    fn folder(&self) -> &[u8] {
        &self.bytes()[..self.folder_len]
    }

    /// Folder by folder, parents first, and in each the file changed longest ago first.
    pub(crate) fn by_folder(&self, other: &Self) -> Ordering {
        self.folder().cmp(other.folder()).then(self.modified.cmp(&other.modified)).then_with(|| self.by_birth(other))
    }

    pub(crate) fn oldest_first(&self, other: &Self) -> Ordering {
        self.modified.cmp(&other.modified).then_with(|| self.same_instant(other))
    }

    pub(crate) fn newest_first(&self, other: &Self) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.same_instant(other))
    }

    /// Clocks of file systems tick every few milliseconds, and a checkout writes many files in one tick.
    fn same_instant(&self, other: &Self) -> Ordering {
        self.folder().cmp(other.folder()).then_with(|| self.by_birth(other))
    }

    /// Within a folder, file systems mostly hand out inodes in the order files are made; where freed ones
    /// are reused the order is at least the same every time.
    fn by_birth(&self, other: &Self) -> Ordering {
        self.ino.cmp(&other.ino).then_with(|| self.bytes().cmp(other.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The captured conversations' folder: written in this order, all but the last in one tick.
    fn files(modified: [i64; 5]) -> Vec<Found> {
        ["/w/a.txt", "/w/src/main.rs", "/w/src/lib.rs", "/w/docs/x.md", "/w/target/junk.rs"]
            .iter()
            .zip(modified)
            .zip([1, 2, 3, 4, 5])
            .map(|((path, at), ino)| Found::new(PathBuf::from(path), (at, 0), ino))
            .rev()
            .collect()
    }

    fn order(mut files: Vec<Found>, compare: fn(&Found, &Found) -> Ordering) -> Vec<String> {
        files.sort_by(compare);
        files.into_iter().map(|file| file.path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn orders_hold_whether_clocks_tick_or_not() {
        for modified in [[1, 1, 1, 1, 1], [1, 2, 3, 4, 5]] {
            let tick = modified[1] == 2;
            let oldest = order(files(modified), Found::oldest_first);
            let rust: Vec<&String> =
                oldest.iter().filter(|name| Path::new(name).extension() == Some("rs".as_ref())).collect();
            assert_eq!(rust, ["main.rs", "lib.rs", "junk.rs"], "tick {tick}");
            let newest = order(files(modified), Found::newest_first);
            let todo: Vec<&String> = newest.iter().filter(|name| ["x.md", "lib.rs"].contains(&name.as_str())).collect();
            assert_eq!(todo, ["x.md", "lib.rs"], "tick {tick}");
            assert_eq!(
                order(files(modified), Found::by_folder),
                ["a.txt", "x.md", "main.rs", "lib.rs", "junk.rs"],
                "tick {tick}"
            );
        }
    }
}
