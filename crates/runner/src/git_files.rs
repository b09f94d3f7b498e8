//! Uncommitted files: their contents, and the lines that one iteration added.
//!
//! Git counts lines since the last commit. Where work is left uncommitted, what earlier iterations wrote would
//! be counted again and again, so small files are kept from one look to the next and compared.

use cycle::FileChange;
use similar::algorithms::{DiffHook, myers};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Changed files whose content is looked at; of the others only size and time.
const CONTENT_MAX: u64 = 1024 * 1024;
/// Of a file that is kept, and of all of them. Of more, git's count has to do.
const KEPT_FILE: u64 = 128 * 1024;
const KEPT_ALL: usize = 4 * 1024 * 1024;
/// Past this a comparison is a coarser one: a receipt is no patch.
const COMPARE: Duration = Duration::from_millis(200);

/// Contents by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileContents(BTreeMap<String, String>);

impl FileContents {
    pub(crate) fn of<'a>(folder: &Path, paths: impl Iterator<Item = &'a String>) -> Self {
        let mut room = KEPT_ALL;
        let mut kept = BTreeMap::new();
        for path in paths {
            let Some(text) = text(&folder.join(path), KEPT_FILE).filter(|text| text.len() <= room) else { continue };
            room -= text.len();
            kept.insert(path.clone(), text);
        }
        Self(kept)
    }

    /// Counts only what is different from what was kept, and adds what was put back as it is committed.
    pub(crate) fn correct(&self, folder: &Path, files: &mut Vec<FileChange>) {
        for (path, before) in &self.0 {
            let place = folder.join(path);
            let now = if place.symlink_metadata().is_ok() { text(&place, CONTENT_MAX) } else { Some(String::new()) };
            let Some(now) = now.filter(|now| now != before) else { continue };
            let (added, removed) = difference(before, &now);
            match files.iter_mut().find(|file| file.path == *path) {
                Some(file) => (file.added, file.removed) = (added, removed),
                None => files.push(FileChange { path: path.clone(), added, removed }),
            }
        }
    }
}

/// Counts lines. `similar::TextDiff` would do, and bring five algorithms into the program, each for several kinds of text.
#[derive(Default)]
struct Count {
    added: u64,
    removed: u64,
}

impl DiffHook for Count {
    type Error = Infallible;

    fn delete(&mut self, _old: usize, len: usize, _new: usize) -> Result<(), Infallible> {
        self.removed += len as u64;
        Ok(())
    }

    fn insert(&mut self, _old: usize, _new: usize, len: usize) -> Result<(), Infallible> {
        self.added += len as u64;
        Ok(())
    }
}

fn difference(before: &str, now: &str) -> (u64, u64) {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (before, now) = (lines(before), lines(now));
    let mut count = Count::default();
    let deadline = Some(Instant::now() + COMPARE);
    let Ok(()) = myers::diff_deadline(&mut count, &*before, 0..before.len(), &*now, 0..now.len(), deadline);
    (count.added, count.removed)
}

fn regular(path: &Path) -> Option<std::fs::Metadata> {
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)
}

fn text(path: &Path, most: u64) -> Option<String> {
    regular(path).filter(|data| data.len() <= most)?;
    std::fs::read_to_string(path).ok()
}

/// The same as long as the file is.
pub(crate) fn print(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    match regular(path) {
        Some(data) if data.len() <= CONTENT_MAX => std::fs::read(path).unwrap_or_default().hash(&mut hasher),
        Some(data) => (data.len(), data.modified().ok()).hash(&mut hasher),
        None => nested_print(path).hash(&mut hasher),
    }
    hasher.finish()
}

/// Of a repository inside this one: where it stands. Nothing for everything else that is no file.
fn nested_print(path: &Path) -> Vec<Option<(u64, Option<std::time::SystemTime>)>> {
    let files = [".git", ".git/HEAD", ".git/logs/HEAD", ".git/config"].map(|name| path.join(name));
    let print = |file: &std::path::PathBuf| file.symlink_metadata().ok().map(|data| (data.len(), data.modified().ok()));
    if path.is_dir() { files.iter().map(print).collect() } else { Vec::new() }
}

pub(crate) fn lines(path: &Path) -> u64 {
    let small = regular(path).filter(|data| data.len() <= CONTENT_MAX);
    let bytes = small.and_then(|_| std::fs::read(path).ok()).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').count().saturating_sub(1) as u64
}
/// A file that git does not know yet, as a diff shows it.
pub(crate) fn as_new(folder: &Path, path: &str) -> String {
    let head = format!("diff --git a/{path} b/{path}\nnew file\n--- /dev/null\n+++ b/{path}\n");
    match text(&folder.join(path), KEPT_FILE) {
        Some(text) => text.lines().fold(head, |all, line| format!("{all}+{line}\n")),
        None => format!("{head}(not shown: no text, or too long)\n"),
    }
}
