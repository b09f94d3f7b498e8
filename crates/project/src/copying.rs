//! Copying a folder of somebody else's: bounded, and never what a link leads out to.

use std::io;
use std::path::{Path, PathBuf};

use crate::ProjectError;

/// Files of one plugin; more is a mistake, such as a whole checkout with its dependencies.
const FILES_MAX: usize = 20_000;
/// Their bytes together.
const BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Deeper is a loop.
const DEPTH_MAX: usize = 32;

/// Makes `to` a copy of the folder `from`, whole or not at all. What was there goes.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<(), ProjectError> {
    let failed = |source| ProjectError::Write { file: to.to_owned(), source };
    let parent = to.parent().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    std::fs::create_dir_all(parent).map_err(failed)?;
    let fresh = tempfile::Builder::new().prefix(".ralph-").tempdir_in(parent).map_err(failed)?;
    let root = from.canonicalize().map_err(failed)?;
    let mut copying = Copying { root, files: 0, bytes: 0 };
    copying.folder(from, fresh.path(), 0).map_err(failed)?;
    if to.exists() {
        std::fs::remove_dir_all(to).map_err(failed)?;
    }
    std::fs::rename(fresh.keep(), to).map_err(failed)
}

struct Copying {
    root: PathBuf,
    files: usize,
    bytes: u64,
}

impl Copying {
    fn folder(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other(format!("{} is nested too deeply", from.display())));
        }
        std::fs::create_dir_all(to)?;
        for entry in from.read_dir()? {
            let entry = entry?;
            // The history of a repository is no part of a plugin.
            if entry.file_name() == ".git" {
                continue;
            }
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let real = path.canonicalize()?;
            if !real.starts_with(&self.root) {
                return Err(io::Error::other(format!("{} is a link out of its folder", path.display())));
            }
            let metadata = std::fs::metadata(&real)?;
            if metadata.is_dir() {
                self.folder(&real, &target, depth + 1)?;
            } else if metadata.is_file() {
                self.count(metadata.len())?;
                std::fs::copy(&real, &target)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64) -> io::Result<()> {
        self.files += 1;
        self.bytes += bytes;
        if self.files > FILES_MAX || self.bytes > BYTES_MAX {
            return Err(io::Error::other(format!(
                "a plugin may have {FILES_MAX} files and {} MiB; this is more",
                BYTES_MAX / 1024 / 1024
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn a_folder_is_copied_whole_and_replaces_what_was_there() {
        let bed = Bed::new();
        bed.file("from/a/b.txt", "b");
        bed.file("from/.git/config", "history");
        bed.link(&bed.path("from/a"), "from/linked");
        bed.file("to/old.txt", "old");
        replace(&bed.path("from"), &bed.path("to")).unwrap();
        assert_eq!(std::fs::read_to_string(bed.path("to/a/b.txt")).unwrap(), "b");
        assert_eq!(std::fs::read_to_string(bed.path("to/linked/b.txt")).unwrap(), "b");
        assert!(!bed.path("to/old.txt").exists() && !bed.path("to/.git").exists());
    }

    #[test]
    fn a_link_out_or_to_its_own_parent_copies_nothing() {
        for target in ["home/.ssh", "from"] {
            let bed = Bed::new();
            bed.file("home/.ssh/id_rsa", "SECRET");
            bed.file("from/a.txt", "a");
            bed.link(&bed.path(target), "from/out");
            assert!(replace(&bed.path("from"), &bed.path("to")).is_err(), "{target}");
            assert!(!bed.path("to").exists());
            assert_eq!(bed.path("").read_dir().unwrap().count(), 4, "nothing half copied stays");
        }
    }
}
