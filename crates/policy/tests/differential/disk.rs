//! The disk as the judge sees it.

use ralph_policy::{Kind, Listing, Name, Resolve};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

pub struct Disk;

impl Resolve for Disk {
    fn real(&self, path: &Path) -> PathBuf {
        let mut out = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::ParentDir => drop(out.pop()),
                Component::Normal(name) => {
                    out.push(name);
                    if let Ok(real) = out.canonicalize() {
                        out = real;
                    } else if let Ok(target) = out.read_link() {
                        // A link that leads nowhere yet: what is written through it is made there.
                        out.pop();
                        out = ralph_policy::normalise(&out.join(target));
                    }
                }
                _ => {}
            }
        }
        out
    }

    fn list(&self, folder: &Path, most: usize) -> Listing {
        let Ok(entries) = std::fs::read_dir(folder) else { return Listing::NotAFolder };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let kind = if meta.is_dir() {
                Kind::Folder
            } else if meta.is_symlink() {
                Kind::Link
            } else {
                Kind::Other
            };
            names.push(Name { text: entry.file_name(), kind, ino: meta.ino() });
        }
        if names.len() > most { Listing::TooMany } else { Listing::Names(names) }
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn repository_runs_programs(&self, _: &Path) -> bool {
        false
    }

    fn shared_inode(&self, path: &Path) -> Option<u64> {
        path.metadata().ok().filter(|meta| meta.is_file() && meta.nlink() > 1).map(|meta| meta.ino())
    }
}
