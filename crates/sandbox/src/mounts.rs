//! A command's own view of the file system: everything read-only but the writable trees, and in those
//! the protected paths read-only again.
//!
//! A mount point can be neither renamed nor removed nor written over, so each protected path becomes
//! one, and so does every folder between it and the writable tree: else the folder could be moved away
//! and another put in its place. All memory is prepared before the fork.

use crate::layout::{PROTECTED, real};
use crate::repository;
use crate::rules::{IN_CHECKOUTS, Rules};
use crate::run_sockets;
use crate::sys;
use process::Spec;
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
pub(crate) struct Mounts {
    /// Outer ones first.
    attached: Vec<Attached>,
    /// Folders on the way to protected paths, outer ones first.
    pins: Vec<CString>,
    protected: Vec<CString>,
    /// Below protected paths, writable again.
    checkouts: Vec<CString>,
    /// What checkouts bring with them, and the folders on the way to it. They come and go while commands are
    /// started: what is gone by now needs no protection.
    fleeting_pins: Vec<CString>,
    fleeting: Vec<CString>,
    hidden_folders: Vec<CString>,
    hidden_files: Vec<CString>,
    /// Single files that stay writable whatever is around them.
    files: Vec<CString>,
}

/// A tree that stays as it is, or comes from elsewhere, when everything else becomes read-only.
#[derive(Debug, PartialEq, Eq)]
struct Attached {
    from: CString,
    to: CString,
    read_only: bool,
}

/// The same, as paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attach {
    pub(crate) to: PathBuf,
    pub(crate) from: PathBuf,
    pub(crate) read_only: bool,
}

/// Writable trees, temporary folders of the box, and what is seen in those, in the order of mounting. Places for all of
/// it are made in the temporary folders.
pub(crate) fn attachments(rules: &Rules, trees: &[PathBuf], also: &[PathBuf], spec: &Spec) -> io::Result<Vec<Attach>> {
    let as_it_is = |path: &PathBuf, read_only| Attach { to: path.clone(), from: path.clone(), read_only };
    let own = rules.own_temp.iter();
    let mut list: Vec<Attach> = trees.iter().map(|tree| as_it_is(tree, false)).collect();
    list.extend(own.clone().map(|own| Attach { to: own.at.clone(), from: own.folder.clone(), read_only: false }));
    let program = Path::new(&spec.program);
    let needed = [program.canonicalize().unwrap_or_else(|_| program.to_owned()), real(&spec.cwd)];
    let needed = needed.into_iter().filter(|path| path.is_absolute() && path.exists());
    for path in rules.seen.iter().filter(|path| path.exists()).cloned().chain(needed) {
        let in_temp = own.clone().any(|own| path.starts_with(&own.at) && path != own.at);
        let is_there = list.iter().any(|item| path.starts_with(&item.to) && own.clone().all(|own| own.at != item.to));
        if in_temp && !is_there {
            list.push(as_it_is(&path, true));
        }
    }
    list.sort();
    list.dedup_by(|one, other| one.to == other.to);
    let covered =
        |path: &Path| list.iter().any(|item| path.starts_with(&item.to) && path != item.to && item.from == item.to);
    for path in list.iter().map(|item| &item.to).chain(also).filter(|path| !covered(path)) {
        for own in own.clone() {
            if let Ok(rest) = path.strip_prefix(&own.at) {
                make_place(&own.folder.join(rest), path.is_dir())?;
            }
        }
    }
    Ok(list)
}

fn make_place(place: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return std::fs::create_dir_all(place);
    }
    place.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    match std::fs::File::create_new(place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

impl Mounts {
    /// Looks at what exists now; everything protected is expected to.
    pub(crate) fn plan(rules: &Rules, also: &[PathBuf], spec: &Spec) -> io::Result<Self> {
        let here = existing(rules);
        let fleeting_pins = here.fleeting_pins();
        let Existing { trees, protected, checkouts, fleeting, hidden } = here;
        let attached = attachments(rules, &trees, also, spec)?;
        if attached.len() + checkouts.len() + also.len() > TREES_MAX {
            return Err(io::Error::other(format!("more than {TREES_MAX} folders are writable")));
        }
        let guarded: Vec<&Path> = protected.iter().chain(&hidden).map(PathBuf::as_path).collect();
        let (folders, files): (Vec<_>, Vec<_>) = hidden.iter().partition(|path| path.is_dir());
        Ok(Self {
            pins: texts(between(&trees, &guarded).iter())?,
            attached: attached.into_iter().map(Attached::new).collect::<io::Result<_>>()?,
            protected: texts(protected.iter())?,
            checkouts: texts(checkouts.iter())?,
            fleeting_pins: texts(fleeting_pins.iter())?,
            fleeting: texts(fleeting.iter())?,
            hidden_folders: texts(folders.into_iter())?,
            hidden_files: texts(files.into_iter())?,
            files: texts(also.iter().filter(|path| path.exists()))?,
        })
    }

    /// In the child, in a mount namespace of its own.
    pub(crate) fn make(&self) -> io::Result<()> {
        sys::mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        let mut copies: [RawFd; TREES_MAX] = [-1; TREES_MAX];
        let trees = self.attached.iter().map(|item| &item.from);
        for (copy, tree) in copies.iter_mut().zip(trees.chain(&self.checkouts).chain(&self.files)) {
            *copy = sys::copy_tree(tree)?;
        }
        sys::make_read_only(c"/")?;
        for (copy, item) in copies.iter().zip(&self.attached) {
            sys::attach_tree(*copy, &item.to)?;
            if item.read_only {
                sys::make_read_only(&item.to)?;
            }
        }
        for pin in &self.pins {
            sys::mount(pin, pin, c"", libc::MS_BIND | libc::MS_REC, c"")?;
        }
        for path in &self.protected {
            sys::mount(path, path, c"", libc::MS_BIND | libc::MS_REC, c"")?;
            sys::make_read_only(path)?;
        }
        let copies = &copies[self.attached.len()..];
        for (copy, folder) in copies.iter().zip(&self.checkouts) {
            sys::attach_tree(*copy, folder)?;
        }
        for pin in &self.fleeting_pins {
            if_there(sys::mount(pin, pin, c"", libc::MS_BIND | libc::MS_REC, c""))?;
        }
        for path in &self.fleeting {
            let bound = sys::mount(path, path, c"", libc::MS_BIND | libc::MS_REC, c"");
            if_there(bound.and_then(|()| sys::make_read_only(path)))?;
        }
        for path in &self.hidden_folders {
            let flags = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            sys::mount(c"none", path, c"tmpfs", flags, c"size=4k,mode=000")?;
        }
        for path in &self.hidden_files {
            if_there(sys::mount(c"/dev/null", path, c"", libc::MS_BIND, c""))?;
        }
        for (copy, file) in copies.iter().skip(self.checkouts.len()).zip(&self.files) {
            sys::attach_tree(*copy, file)?;
        }
        Ok(())
    }
}

impl Attached {
    fn new(item: Attach) -> io::Result<Self> {
        let text = |path: PathBuf| CString::new(path.into_os_string().into_encoded_bytes());
        Ok(Self { from: text(item.from)?, to: text(item.to)?, read_only: item.read_only })
    }
}

/// In the child: nothing is allocated.
fn if_there(step: io::Result<()>) -> io::Result<()> {
    match step {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => Ok(()),
        other => other,
    }
}

/// What of the rules there is to mount.
pub(crate) struct Existing {
    pub(crate) trees: Vec<PathBuf>,
    /// Below `trees`.
    pub(crate) protected: Vec<PathBuf>,
    /// Below `protected`.
    pub(crate) checkouts: Vec<PathBuf>,
    /// To be protected because of checkouts: what is guarded in each, and what ties it to its repository.
    pub(crate) fleeting: Vec<PathBuf>,
    /// Below `trees`.
    pub(crate) hidden: Vec<PathBuf>,
}

impl Existing {
    /// Folders on the way to what is fleeting, but for those that are pinned anyway.
    pub(crate) fn fleeting_pins(&self) -> BTreeSet<PathBuf> {
        let paths = |list: &[PathBuf]| -> Vec<PathBuf> { list.to_vec() };
        let (trees, fleeting) = ([paths(&self.checkouts), paths(&self.trees)].concat(), paths(&self.fleeting));
        let lasting: Vec<&Path> = self.protected.iter().chain(&self.hidden).map(PathBuf::as_path).collect();
        let lasting = between(&self.trees, &lasting);
        let mut pins = between(&trees, &fleeting.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        pins.retain(|pin| !lasting.contains(pin));
        pins
    }
}

pub(crate) fn existing(rules: &Rules) -> Existing {
    let is_own_temp = |path: &PathBuf| rules.own_temp.iter().any(|own| own.folder == *path);
    let wanted = rules.write.iter().filter(|path| path.exists() && !is_own_temp(path));
    let wanted: Vec<PathBuf> = wanted.cloned().collect();
    let trees = outermost(&wanted);
    let below = |path: &&PathBuf| trees.iter().any(|tree| path.starts_with(tree)) && path.exists();
    let protected: Vec<PathBuf> = rules.protected.iter().filter(below).cloned().collect();
    // Landlock grants what is mounted in a temporary folder with the folder.
    let seen = |path: &&PathBuf| rules.seen.iter().any(|tree| path.starts_with(tree)) && path.exists();
    let hidden = rules.hidden.iter().filter(|path| below(path) || seen(path)).cloned();
    let hidden = hidden.chain(run_sockets::find(rules)).collect();
    let (mut checkouts, mut fleeting) = (Vec::new(), Vec::new());
    for folder in rules.checkouts.iter().filter(below).filter(|folder| is_own_folder(folder)) {
        let Some(made) = repository::entries(folder, CHECKOUTS_MAX) else { continue };
        checkouts.push(folder.clone());
        for checkout in made {
            fleeting.extend(PROTECTED.iter().map(|name| checkout.join(name)).filter(|path| is_no_link(path)));
            // A file; a folder would be a repository that somebody has made there.
            fleeting.extend(IN_CHECKOUTS.iter().map(|name| checkout.join(name)).filter(|path| is_plain_file(path)));
            let ties = repository::find(&checkout).unwrap_or_default().protected;
            fleeting.extend(ties.into_iter().filter(|path| below(&path) && !path.starts_with(folder)));
        }
    }
    fleeting.retain(|path| !protected.iter().any(|lasting| path.starts_with(lasting) && !is_below(&checkouts, path)));
    fleeting.sort();
    fleeting.dedup();
    Existing { trees, protected, checkouts, fleeting, hidden }
}

fn is_below(folders: &[PathBuf], path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn is_no_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| !data.is_symlink())
}

fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
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
pub(crate) fn between(trees: &[PathBuf], guarded: &[&Path]) -> BTreeSet<PathBuf> {
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
        let mounts = Mounts::plan(&rules, &[], &crate::testing::spec("/bin/true", &at("w"))).unwrap();
        assert_eq!((mounts.attached.len(), mounts.pins.len(), mounts.protected.len()), (1, 1, 1));
        assert!(mounts.hidden_folders.is_empty() && mounts.hidden_files.is_empty());
    }

    #[test]
    fn what_checkouts_bring_may_be_gone_again() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        for folder in ["w/.git/objects", "w/.git/hooks", "w/.git/worktrees/a", "w/.claude/worktrees/a/.vscode"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for (file, text) in [
            ("w/.git/HEAD", String::new()),
            ("w/.git/worktrees/a/commondir", "../..".into()),
            ("w/.git/worktrees/a/gitdir", at("w/.claude/worktrees/a/.git").display().to_string()),
            ("w/.claude/worktrees/a/.git", format!("gitdir: {}", at("w/.git/worktrees/a").display())),
        ] {
            std::fs::write(at(file), text).unwrap();
        }
        let rules = Rules {
            write: vec![at("w")],
            protected: vec![at("w/.git/hooks"), at("w/.claude")],
            checkouts: vec![at("w/.claude/worktrees")],
            ..Rules::default()
        };
        let here = existing(&rules);
        assert_eq!((here.protected, here.checkouts), (rules.protected.clone(), rules.checkouts.clone()));
        let fleeting = ["w/.claude/worktrees/a/.git", "w/.claude/worktrees/a/.vscode", "w/.git/worktrees/a/commondir"];
        assert_eq!(here.fleeting, [fleeting.map(at).to_vec(), vec![at("w/.git/worktrees/a/gitdir")]].concat());
        let pins = existing(&rules).fleeting_pins();
        let expected = ["w/.claude/worktrees/a", "w/.git/worktrees", "w/.git/worktrees/a"].map(at);
        assert_eq!(pins.into_iter().collect::<Vec<_>>(), expected);
        for (code, fine) in [(libc::ENOENT, true), (libc::ENOTDIR, true), (libc::EPERM, false)] {
            assert_eq!(if_there(Err(io::Error::from_raw_os_error(code))).is_ok(), fine, "{code}");
        }
    }

    #[test]
    fn only_the_outermost_count() {
        let paths: Vec<PathBuf> = ["/tmp/w", "/tmp", "/tmpx", "/tmp"].iter().map(PathBuf::from).collect();
        assert_eq!(outermost(&paths), [Path::new("/tmp"), Path::new("/tmpx")]);
    }
}
