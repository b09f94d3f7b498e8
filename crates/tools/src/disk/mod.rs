//! The file system as `policy` asks about it: for what stands inside shell commands.

mod repository;

use crate::workspace::real_path;
use policy::{Kind, Listing, Name};
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

pub struct Disk;

impl policy::Resolve for Disk {
    fn real(&self, path: &Path) -> PathBuf {
        real_path(path)
    }

    fn list(&self, folder: &Path, most: usize) -> Listing {
        let Ok(entries) = std::fs::read_dir(folder) else { return Listing::NotAFolder };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            if names.len() >= most {
                return Listing::TooMany;
            }
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => Kind::Folder,
                Ok(kind) if kind.is_symlink() => Kind::Link,
                _ => Kind::Other,
            };
            names.push(Name { text: entry.file_name(), kind, ino: entry.ino() });
        }
        Listing::Names(names)
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn repository_runs_programs(&self, folder: &Path) -> bool {
        repository::runs_programs(folder)
    }

    fn shared_inode(&self, path: &Path) -> Option<u64> {
        let data = path.symlink_metadata().ok().filter(|data| data.is_file() && data.nlink() > 1)?;
        Some(data.ino())
    }
}
