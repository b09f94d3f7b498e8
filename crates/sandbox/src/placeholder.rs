//! Something at a protected path that is not there, so that a mount can cover it.
//!
//! An empty folder: git does not see those, so neither a status nor a commit changes by it. Whoever
//! wants to make a file of that name finds a folder in the way, and inside the sandbox a read-only one.
//! Removed when the agent ends; one that a killed agent left behind is known by its mode and its missing lock, and
//! removed by the next start. A lock keeps agents in the same folder from removing each other's.
//!
//! Some paths cannot be a folder: git refuses a repository whose `commondir` is none of its files, and
//! agents complain about settings that are none. There it is a file that says what is true anyway.

use rustix::fs::{FlockOperation, flock};
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Which hardly anybody gives a folder of their own; empty ones of this mode are taken for ours.
const MODE: u32 = 0o711;

/// Files, and their whole content: this folder, no settings, no memory. Written in a way that nobody else does,
/// since files of this content are taken for ours.
const FILES: [(&str, &[u8]); 4] =
    [("commondir", b".\n"), ("settings.json", b"{ }\n"), ("settings.local.json", b"{ }\n"), ("CLAUDE.md", b" \n")];

/// What a file that stands there would say; `None` where a folder stands.
fn text_of(path: &Path) -> Option<&'static [u8]> {
    FILES.iter().find(|(name, _)| path.ends_with(name)).map(|(_, text)| *text)
}

/// Whether what stands there may be a file of ours.
pub(crate) fn may_be_file(path: &Path) -> bool {
    text_of(path).is_some()
}

#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    /// Holds a shared lock as long as it is open.
    lock: File,
}

impl Placeholder {
    /// For a protected path below `tree`. What is there already needs none.
    pub(crate) fn put(tree: &Path, protected: &Path) -> io::Result<Option<Self>> {
        let path = first_missing(tree, protected);
        let made = text_of(&path).map_or_else(|| make_folder(&path), |text| make_file(&path, text));
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !is_ours(&path) => return Ok(None),
            // Where we may not make it, commands may not either.
            Err(error) if is_forbidden(&error) => return Ok(None),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lock = File::open(&path)?;
        // Without the lock two agents may disturb each other; that is no reason not to start.
        let _ = flock(&lock, FlockOperation::NonBlockingLockShared);
        Ok(Some(Self { path, lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        remove(&self.path, &self.lock);
    }
}

/// Refused while another agent needs it; a folder that somebody put something in stays.
fn remove(path: &Path, lock: &File) {
    if is_ours(path) && flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let removed = std::fs::remove_dir(path);
        if removed.is_err_and(|error| error.kind() == io::ErrorKind::NotADirectory) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes what a killed agent left at one of these paths below `root`, or on the way to it. For every start, so that
/// nobody takes it for configuration.
pub(crate) fn remove_left(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        for path in path.ancestors().take_while(|path| *path != root) {
            if is_ours(path)
                && let Ok(lock) = File::open(path)
            {
                remove(path, &lock);
            }
        }
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn make_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(MODE))
}

fn make_file(path: &Path, text: &[u8]) -> io::Result<()> {
    File::create_new(path)?.write_all(text)
}

fn is_ours(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(data) if data.is_dir() => data.permissions().mode() & 0o777 == MODE,
        Ok(data) if data.is_file() => text_of(path).is_some_and(|text| says(path, text)),
        _ => false,
    }
}

fn says(path: &Path, text: &[u8]) -> bool {
    let mut found = Vec::new();
    let read = File::open(path).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut found));
    read.is_ok() && found == text
}

/// The protected path itself, or the first folder on the way to it that is not there either.
fn first_missing(tree: &Path, protected: &Path) -> PathBuf {
    let mut missing = protected.to_owned();
    for folder in protected.ancestors().skip(1).take_while(|folder| *folder != tree && folder.starts_with(tree)) {
        if folder.symlink_metadata().is_err() || is_ours(folder) {
            folder.clone_into(&mut missing);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_where_nothing_was_and_goes_with_its_owners() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".mcp.json");
        let one = Placeholder::put(root.path(), &path).unwrap().unwrap();
        let other = Placeholder::put(root.path(), &path).unwrap().unwrap();
        assert!(path.is_dir());
        drop(one);
        assert!(path.is_dir(), "somebody else still needs it");
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_agent_left_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        for name in [".mcp.json", "commondir", "settings.json"] {
            let path = root.path().join(name);
            std::mem::forget(Placeholder::put(root.path(), &path).unwrap());
            // The kernel lets go of a dead process's locks; here another one stands for it.
            let path = root.path().join(name);
            assert!(Placeholder::put(root.path(), &path).unwrap().is_some(), "{name}");
        }
    }

    #[test]
    fn what_a_killed_agent_left_is_removed_by_the_next_start() {
        let root = tempfile::tempdir().unwrap();
        let names = [".mcp.json", ".ralph/config.toml", "settings.json", ".vscode"];
        for name in names {
            // Forgetting it closes its file, as a death does.
            let put = Placeholder::put(root.path(), &root.path().join(name)).unwrap().unwrap();
            let Placeholder { path, lock } = &put;
            let (path, lock) = (path.clone(), lock.try_clone().unwrap());
            assert!(path.exists());
            drop(lock);
            flock(&put.lock, FlockOperation::Unlock).unwrap();
            std::mem::forget(put);
        }
        let alive = Placeholder::put(root.path(), &root.path().join(".idea")).unwrap();
        std::fs::create_dir(root.path().join("own")).unwrap();
        std::fs::write(root.path().join(".vscode/mine"), "x").unwrap();
        remove_left(root.path(), &[&names[..], &[".idea", "own"]].concat());
        for name in [".mcp.json", ".ralph", "settings.json"] {
            assert!(!root.path().join(name).exists(), "{name}");
        }
        assert!(root.path().join(".idea").exists() && root.path().join("own").exists(), "somebody needs it");
        assert!(root.path().join(".vscode/mine").exists());
        drop(alive);
    }

    #[test]
    fn git_is_told_what_it_knew() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("commondir");
        let placeholder = Placeholder::put(root.path(), &path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), ".\n");
        drop(placeholder);
        assert!(!path.exists());
        std::fs::write(&path, "../..").unwrap();
        assert!(Placeholder::put(root.path(), &path).unwrap().is_none());
    }

    #[test]
    fn what_is_there_stays() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(Placeholder::put(root.path(), &file).unwrap().is_none());
        std::fs::create_dir_all(root.path().join("empty")).unwrap();
        assert!(Placeholder::put(root.path(), &root.path().join("empty")).unwrap().is_none());
        let deep = Placeholder::put(root.path(), &root.path().join(".ralph/config.toml")).unwrap().unwrap();
        assert_eq!(deep.path(), root.path().join(".ralph"));
    }
}
