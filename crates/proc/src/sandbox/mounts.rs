//! A command's own view of the file system: everything read-only but the writable trees, and in those
//! the protected paths read-only again.
//!
//! A mount point can be neither renamed nor removed nor written over, so each protected path becomes
//! one, and so does every folder between it and the writable tree: else the folder could be moved away
//! and another put in its place. All memory is prepared before the fork.

use super::layout::PROTECTED;
use super::repository;
use super::rules::{IN_CHECKOUTS, Rules};
use super::sys;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Writable trees of one command. They are kept in an array while nothing may be allocated.
const TREES_MAX: usize = 128;

/// Checkouts that agents have made for each other. Where there are more, none can be written: each costs mounts.
const CHECKOUTS_MAX: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mounts {
    trees: Vec<CString>,
    /// Folders on the way to protected paths, outer ones first.
    pins: Vec<CString>,
    protected: Vec<CString>,
    /// Below protected paths, writable again.
    checkouts: Vec<CString>,
    /// Folders on the way to what is protected in checkouts, and that itself.
    checkout_pins: Vec<CString>,
    checkout_protected: Vec<CString>,
    hidden_folders: Vec<CString>,
    hidden_files: Vec<CString>,
    /// Single files that stay writable whatever is around them.
    files: Vec<CString>,
}

impl Mounts {
    /// Looks at what exists now; everything protected is expected to.
    pub(super) fn plan(rules: &Rules, also: &[PathBuf]) -> io::Result<Self> {
        let Existing { trees, protected, checkouts, guarded_there, hidden } = existing(rules);
        if trees.len() + checkouts.len() + also.len() > TREES_MAX {
            return Err(io::Error::other(format!("more than {TREES_MAX} folders are writable")));
        }
        let guarded: Vec<&Path> = protected.iter().chain(&hidden).map(PathBuf::as_path).collect();
        let there: Vec<&Path> = guarded_there.iter().map(PathBuf::as_path).collect();
        let (folders, files): (Vec<_>, Vec<_>) = hidden.iter().partition(|path| path.is_dir());
        Ok(Self {
            pins: texts(between(&trees, &guarded).iter())?,
            trees: texts(trees.iter())?,
            protected: texts(protected.iter())?,
            checkout_pins: texts(between(&checkouts, &there).iter())?,
            checkouts: texts(checkouts.iter())?,
            checkout_protected: texts(guarded_there.iter())?,
            hidden_folders: texts(folders.into_iter())?,
            hidden_files: texts(files.into_iter())?,
            files: texts(also.iter().filter(|path| path.exists()))?,
        })
    }

    /// In the child, in a mount namespace of its own.
    pub(super) fn make(&self) -> io::Result<()> {
        sys::mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        let mut copies: [RawFd; TREES_MAX] = [-1; TREES_MAX];
        for (copy, tree) in copies.iter_mut().zip(self.trees.iter().chain(&self.checkouts).chain(&self.files)) {
            *copy = sys::copy_tree(tree)?;
        }
        sys::make_read_only(c"/")?;
        for (copy, tree) in copies.iter().zip(&self.trees) {
            sys::attach_tree(*copy, tree)?;
        }
        for pin in &self.pins {
            sys::mount(pin, pin, c"", libc::MS_BIND | libc::MS_REC, c"")?;
        }
        for path in &self.protected {
            sys::mount(path, path, c"", libc::MS_BIND | libc::MS_REC, c"")?;
            sys::make_read_only(path)?;
        }
        let copies = &copies[self.trees.len()..];
        for (copy, folder) in copies.iter().zip(&self.checkouts) {
            sys::attach_tree(*copy, folder)?;
        }
        for pin in &self.checkout_pins {
            sys::mount(pin, pin, c"", libc::MS_BIND | libc::MS_REC, c"")?;
        }
        for path in &self.checkout_protected {
            sys::mount(path, path, c"", libc::MS_BIND | libc::MS_REC, c"")?;
            sys::make_read_only(path)?;
        }
        for path in &self.hidden_folders {
            let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            sys::mount(c"none", path, c"tmpfs", flags, c"size=4k,mode=000")?;
        }
        for path in &self.hidden_files {
            sys::mount(c"/dev/null", path, c"", libc::MS_BIND, c"")?;
        }
        for (copy, file) in copies.iter().skip(self.checkouts.len()).zip(&self.files) {
            sys::attach_tree(*copy, file)?;
        }
        Ok(())
    }
}

/// What of the rules there is to mount.
pub(super) struct Existing {
    pub(super) trees: Vec<PathBuf>,
    /// Below `trees`.
    pub(super) protected: Vec<PathBuf>,
    /// Below `protected`.
    pub(super) checkouts: Vec<PathBuf>,
    /// Below `checkouts`.
    pub(super) guarded_there: Vec<PathBuf>,
    /// Below `trees`.
    pub(super) hidden: Vec<PathBuf>,
}

pub(super) fn existing(rules: &Rules) -> Existing {
    let wanted: Vec<PathBuf> = rules.write.iter().filter(|path| path.exists()).cloned().collect();
    let trees = outermost(&wanted);
    let below = |path: &&PathBuf| trees.iter().any(|tree| path.starts_with(tree)) && path.exists();
    let mut protected: Vec<PathBuf> = rules.protected.iter().filter(below).cloned().collect();
    let hidden = rules.hidden.iter().filter(below).cloned().collect();
    let (mut checkouts, mut guarded_there) = (Vec::new(), Vec::new());
    for folder in rules.checkouts.iter().filter(below).filter(|folder| is_own_folder(folder)) {
        let Some(made) = repository::entries(folder, CHECKOUTS_MAX) else { continue };
        checkouts.push(folder.clone());
        let names = || IN_CHECKOUTS.iter().chain(&PROTECTED);
        let there = made.iter().flat_map(|checkout| names().map(|name| checkout.join(name)));
        guarded_there.extend(there.filter(|path| path.symlink_metadata().is_ok_and(|data| !data.is_symlink())));
        // What ties them to their repository came with them, after the rules.
        let ties = made.iter().filter_map(|checkout| repository::find(checkout)).flat_map(|found| found.protected);
        protected.extend(ties.filter(|path| below(&path) && !path.starts_with(folder)));
    }
    protected.sort();
    protected.dedup();
    Existing { trees, protected, checkouts, guarded_there, hidden }
}

/// A link would open what it leads to.
fn is_own_folder(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path) && path.is_dir()
}

/// Paths of the list that are not below another one of it.
fn outermost(listed: &[PathBuf]) -> Vec<PathBuf> {
    let mut sorted: Vec<PathBuf> = listed.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// Folders strictly between a writable tree and what is guarded in it.
pub(super) fn between(trees: &[PathBuf], guarded: &[&Path]) -> BTreeSet<PathBuf> {
    let mut pins = BTreeSet::new();
    for path in guarded {
        let tree = trees.iter().find(|tree| path.starts_with(tree));
        let above = path.ancestors().skip(1).take_while(|folder| tree.is_some_and(|tree| *folder != tree));
        pins.extend(above.map(Path::to_owned));
    }
    // What is protected as a whole needs no pins inside.
    pins.retain(|pin| !guarded.iter().any(|path| pin.starts_with(path)));
    pins
}

fn texts<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> io::Result<Vec<CString>> {
    paths.map(|path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_on_the_way_is_pinned_once_and_outer_ones_first() {
        let trees = [PathBuf::from("/t")];
        let guarded = ["/t/w/.git/config", "/t/w/.git/hooks", "/t/w/.claude", "/elsewhere/x"].map(Path::new);
        let pins = between(&trees, &guarded[..3]);
        assert_eq!(pins.into_iter().collect::<Vec<_>>(), [Path::new("/t/w"), Path::new("/t/w/.git")]);
    }

    #[test]
    fn what_is_guarded_whole_is_not_opened_up_by_pins() {
        let trees = [PathBuf::from("/t")];
        let pins = between(&trees, &[Path::new("/t/a"), Path::new("/t/a/b/c")]);
        assert!(pins.is_empty(), "{pins:?}");
    }

    #[test]
    fn only_what_is_there_and_below_a_tree_is_mounted() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("w/.git/hooks")).unwrap();
        std::fs::create_dir_all(at("out")).unwrap();
        let rules = Rules {
            write: vec![at("w"), at("gone")],
            protected: vec![at("w/.git/hooks"), at("w/.mcp.json"), at("out")],
            hidden: vec![at("out")],
            ..Rules::default()
        };
        let mounts = Mounts::plan(&rules, &[]).unwrap();
        assert_eq!((mounts.trees.len(), mounts.pins.len(), mounts.protected.len()), (1, 1, 1));
        assert!(mounts.hidden_folders.is_empty() && mounts.hidden_files.is_empty());
    }

    #[test]
    fn only_the_outermost_count() {
        let paths: Vec<PathBuf> = ["/tmp/w", "/tmp", "/tmpx", "/tmp"].iter().map(PathBuf::from).collect();
        assert_eq!(outermost(&paths), [Path::new("/tmp"), Path::new("/tmpx")]);
    }
}
