//! Files that hooks want to hear of: those they name in `watchPaths`, and those that a FileChanged matcher
//! spells out.
//!
//! Looked at by their stamps, twice a second, and only while somebody listens. Deliberately absent: folders
//! as a whole (a hook that wants to know of new files names them), and the loop that looks, which is the caller's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Soon enough for a person who saves a file, and nothing to a machine.
pub const PAUSE: Duration = Duration::from_millis(500);

/// More files than anybody lists by hand; each costs a `stat` a look.
const MOST: usize = 1_000;

/// Tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
}

/// `None` where there is no such file.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let found = std::fs::metadata(path).ok()?;
    Some(Stamp {
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
        size: found.size(),
        inode: found.ino(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Added,
    Changed,
    Gone,
}

impl What {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "add",
            Self::Changed => "change",
            Self::Gone => "unlink",
        }
    }

    fn between(before: Option<Stamp>, now: Option<Stamp>) -> Option<Self> {
        match (before, now) {
            (None, Some(_)) => Some(Self::Added),
            (Some(_), None) => Some(Self::Gone),
            (Some(before), Some(now)) if before != now => Some(Self::Changed),
            _ => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub what: What,
}

/// What is watched, and how it was last seen.
#[derive(Default)]
pub struct Watched {
    files: RefCell<BTreeMap<PathBuf, Option<Stamp>>>,
    running: Cell<bool>,
}

impl Watched {
    /// Watches more files; those that are watched already stay as they were seen.
    pub fn add(&self, folder: &Path, paths: impl Iterator<Item = String>) {
        let mut files = self.files.borrow_mut();
        for path in paths.map(|path| folder.join(path)) {
            if files.len() < MOST {
                files.entry(path).or_insert_with_key(|path| stamp(path));
            }
        }
    }

    /// Whether this is the first call: a session begins to watch once.
    pub fn begin(&self) -> bool {
        !self.running.replace(true)
    }

    /// What changed since the last look.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, seen) in self.files.borrow_mut().iter_mut() {
            let now = stamp(path);
            if let Some(what) = What::between(std::mem::replace(seen, now), now) {
                changes.push(Change { path: path.clone(), what });
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_changes_and_goes_and_each_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let watched = Watched::default();
        watched.add(folder.path(), ["a".to_owned()].into_iter());
        let told = || watched.changes().into_iter().map(|change| change.what.as_str()).collect::<Vec<_>>();
        assert_eq!(told(), [""; 0]);
        std::fs::write(&path, "1").unwrap();
        assert_eq!(told(), ["add"]);
        assert_eq!(told(), [""; 0]);
        std::fs::write(&path, "22").unwrap();
        assert_eq!(told(), ["change"]);
        // Watching it again does not hide a change in between.
        std::fs::write(&path, "333").unwrap();
        watched.add(folder.path(), [path.display().to_string()].into_iter());
        assert_eq!(told(), ["change"]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(told(), ["unlink"]);
    }

    #[test]
    fn a_list_without_end_is_cut() {
        let watched = Watched::default();
        watched.add(Path::new("/nowhere"), (0..2 * MOST).map(|number| number.to_string()));
        assert_eq!(watched.files.borrow().len(), MOST);
    }
}
