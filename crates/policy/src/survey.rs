//! The files on the disk that a pattern or a whole folder stands for, as far as they can be listed.
//!
//! A command that names a folder or a pattern touches files that its text does not name. Deliberately absent:
//! opinions about them, and certainty: what cannot be looked at in full says so.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::call::{Kind, Listing, Name, Resolve};
use crate::pattern;

/// Entries looked at for one pattern or folder; a few milliseconds. More is "cannot be told".
const MAX_ENTRIES: usize = 5_000;
/// Entries looked at to find the other names of a file. Only names and inode numbers are read, and only where a
/// rule denies files and the file in question has several names.
const MAX_ENTRIES_FOR_NAMES: usize = 50_000;

#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Below the folder that was asked for.
    pub(crate) entries: Vec<(PathBuf, Name)>,
    /// Nothing was left out.
    pub(crate) complete: bool,
}

/// Everything below a folder; nothing below what is none. Links are listed, not followed.
pub(crate) fn below(fs: &dyn Resolve, folder: &Path) -> Survey {
    gather(fs, folder, MAX_ENTRIES)
}

fn gather(fs: &dyn Resolve, folder: &Path, most: usize) -> Survey {
    let mut survey = Survey { complete: true, ..Survey::default() };
    let mut ahead = vec![PathBuf::new()];
    while let Some(relative) = ahead.pop() {
        match fs.list(&folder.join(&relative), most.saturating_sub(survey.entries.len())) {
            Listing::NotAFolder => {}
            Listing::TooMany => {
                survey.complete = false;
                break;
            }
            Listing::Names(names) => {
                for name in names {
                    let path = relative.join(&name.text);
                    if name.kind == Kind::Folder {
                        ahead.push(path.clone());
                    }
                    survey.entries.push((path, name));
                }
            }
        }
    }
    survey
}

/// Inode numbers of all files below these folders for which `wanted` holds. `None`: there are too many to tell.
pub(crate) fn inodes(fs: &dyn Resolve, folders: &[PathBuf], wanted: impl Fn(&Path) -> bool) -> Option<HashSet<u64>> {
    let mut found = HashSet::new();
    for folder in folders {
        let survey = gather(fs, folder, MAX_ENTRIES_FOR_NAMES);
        if !survey.complete {
            return None;
        }
        let of_files = survey.entries.iter().filter(|(_, name)| name.kind == Kind::Other);
        found.extend(of_files.filter(|(path, _)| wanted(&folder.join(path))).map(|(_, name)| name.ino));
    }
    Some(found)
}

/// The files that a shell would put in place of a pattern. `None`: it cannot be told.
pub(crate) fn expand(fs: &dyn Resolve, folder: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    let mut found = vec![folder.to_path_buf()];
    let mut budget = MAX_ENTRIES;
    for segment in pattern.split('/').filter(|segment| !segment.is_empty()) {
        if !segment.contains(['*', '?', '[']) {
            for path in &mut found {
                path.push(segment);
            }
            found.retain(|path| fs.exists(&fs.real(path)));
            continue;
        }
        if segment.contains("**") {
            // Any depth in some shells, one level in others.
            return None;
        }
        let mut next = Vec::new();
        for path in &found {
            match fs.list(path, budget) {
                Listing::NotAFolder => {}
                Listing::TooMany => return None,
                Listing::Names(names) => {
                    budget -= names.len();
                    next.extend(
                        names.iter().filter(|name| fits(segment, &name.text)).map(|name| path.join(&name.text)),
                    );
                }
            }
        }
        found = next;
    }
    Some(found)
}

fn fits(segment: &str, name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let hidden = name.starts_with('.') && !segment.starts_with(['.', '[']);
    // Classes by name, `[[:alpha:]]`, are not worth a parser: they may stand for anything.
    let classes = ["[:", "[.", "[="].iter().any(|class| segment.contains(class));
    !hidden && (classes || pattern::path_segments(&[segment], &[&name]))
}
