//! The served folders: the resolution of a client's paths, and files opened so that no link leads out of them.
//!
//! A path is first placed by its text (outside: refused), then opened from the folder's own descriptor with
//! `RESOLVE_BENEATH`, so that the kernel refuses links and `..` that leave it, also when they appear in between.

use crate::problem::Problem;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Entries of one folder that are listed.
const ENTRIES_MAX: usize = 10_000;
/// Folders inside folders that are deleted.
const DEPTH_MAX: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFolders {
    roots: Vec<PathBuf>,
}

/// A path inside a served folder, not opened yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub root: PathBuf,
    /// Without `.` and `..`; empty for the folder itself.
    pub rest: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub name: String,
    pub path: String,
    #[serde(rename = "entryType")]
    pub kind: &'static str,
    pub size: u64,
    pub modified: Option<String>,
}

impl ServedFolders {
    /// `roots` are real paths of folders.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots }
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Where a client's path is. Relative ones count from the first folder.
    pub fn place(&self, given: &str) -> Result<Served, Problem> {
        if given.contains('\0') {
            return Err(Problem::invalid("a path has no NUL byte in it"));
        }
        let outside = || Problem::denied(format!("{given} is outside of the served folders"));
        let first = self.roots.first().ok_or_else(outside)?;
        let path = fold(&first.join(given)).ok_or_else(outside)?;
        // The innermost folder, where one is inside another.
        let root = self.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count());
        let root = root.ok_or_else(outside)?;
        let rest = path.strip_prefix(root).map_err(|_| outside())?;
        Ok(Served { root: root.clone(), rest: rest.to_owned() })
    }

    /// A folder that a command may work in, by its real path.
    pub fn place_folder(&self, given: Option<&str>) -> Result<(usize, PathBuf), Problem> {
        let served = self.place(given.unwrap_or("."))?;
        served.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        let path = served.path();
        let real = path.canonicalize().map_err(|error| Problem::invalid(format!("{}: {error}", path.display())))?;
        let at = self.roots.iter().enumerate().filter(|(_, root)| real.starts_with(root));
        let at = at.max_by_key(|(_, root)| root.components().count()).map(|(at, _)| at);
        at.map(|at| (at, real))
            .ok_or_else(|| Problem::denied(format!("{} leads out of the served folders", path.display())))
    }
}

/// Dots folded as text; nothing where they lead above the root of all.
fn fold(path: &Path) -> Option<PathBuf> {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop().then_some(())?;
            }
            part => folded.push(part),
        }
    }
    Some(folded)
}

impl Served {
    pub fn path(&self) -> PathBuf {
        if self.rest.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.rest) }
    }

    pub fn shown(&self) -> String {
        self.path().display().to_string()
    }

    fn failed(&self, error: Errno) -> Problem {
        let path = self.shown();
        match error {
            Errno::XDEV | Errno::LOOP => Problem::denied(format!("{path} leads out of the served folders")),
            Errno::NOENT => Problem::not_found(format!("{path} does not exist")),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Problem::denied(format!("{path}: {error}")),
            Errno::NOSPC | Errno::DQUOT | Errno::IO => Problem::internal(format!("{path}: {error}")),
            _ => Problem::invalid(format!("{path}: {error}")),
        }
    }

    fn root(&self) -> Result<OwnedFd, Problem> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&self.root, flags, Mode::empty()).map_err(|error| self.failed(error))
    }

    /// Opens it from the folder's descriptor, never through a link that leaves it, and never waits for a pipe.
    pub fn open(&self, flags: OFlags) -> Result<OwnedFd, Problem> {
        let root = self.root()?;
        let rest = if self.rest.as_os_str().is_empty() { Path::new(".") } else { &self.rest };
        // A path alone is never waited for, and takes no other flags.
        let patient = if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NONBLOCK | OFlags::NOCTTY };
        open_beneath(&root, rest, patient).map_err(|error| self.failed(error))
    }

    /// The folder that it lies in, made where it is missing and `create` says so, and its name there.
    fn parent(&self, create: bool) -> Result<(OwnedFd, OsString), Problem> {
        let whole = || Problem::denied(format!("{} is a served folder itself", self.shown()));
        let name = self.rest.file_name().ok_or_else(whole)?.to_owned();
        let mut folder = self.root()?;
        let parts = self.rest.parent().into_iter().flat_map(Path::components);
        for part in parts {
            folder = open_or_make(&folder, part.as_os_str(), create).map_err(|error| self.failed(error))?;
        }
        Ok((folder, name))
    }

    pub fn read(&self, most: usize) -> Result<Vec<u8>, Problem> {
        let fd = self.open(OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| self.failed(error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Problem::invalid(format!("{} is no regular file", self.shown())));
        }
        if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > most as u64 {
            return Err(Problem::too_large(format!("{} is larger than {most} bytes", self.shown())));
        }
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut std::io::Read::take(File::from(fd), most as u64), &mut bytes);
        read.map_err(|error| Problem::internal(format!("{}: {error}", self.shown())))?;
        Ok(bytes)
    }

    /// Puts a whole file in its place in one step. One that was there keeps its mode.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Problem> {
        self.write_new_as(bytes, 0o666)
    }

    /// The same, with a mode for a file that was not there.
    pub fn write_new_as(&self, bytes: &[u8], new: u32) -> Result<(), Problem> {
        let (folder, name) = self.parent(true)?;
        let before = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kind = before.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode));
        if !matches!(kind, None | Some(FileType::RegularFile | FileType::Symlink)) {
            return Err(Problem::invalid(format!("{} is no regular file", self.shown())));
        }
        let mode = before.filter(|_| kind == Some(FileType::RegularFile)).map_or(new, |stat| stat.st_mode & 0o777);
        let temporary = format!(".ralph-{}", uuid::Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&folder, temporary.as_str(), flags, Mode::from_raw_mode(mode));
        let mut file = File::from(made.map_err(|error| self.failed(error))?);
        let done = file.write_all(bytes).map_err(|error| Problem::internal(format!("{}: {error}", self.shown())));
        let done = done.and_then(|()| {
            rustix::fs::renameat(&folder, temporary.as_str(), &folder, &name).map_err(|error| self.failed(error))
        });
        if done.is_err() {
            // The first error is the one that matters.
            let _ = rustix::fs::unlinkat(&folder, temporary.as_str(), AtFlags::empty());
        }
        done
    }

    pub fn make_folder(&self) -> Result<(), Problem> {
        let mut folder = self.root()?;
        for part in self.rest.components() {
            folder = open_or_make(&folder, part.as_os_str(), true).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    pub fn remove(&self, recursive: bool) -> Result<(), Problem> {
        let (folder, name) = self.parent(false)?;
        let stat = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(|error| self.failed(error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).map_err(|error| self.failed(error));
        }
        let done = if recursive { remove_tree(&folder, &name, 0) } else { unlink_folder(&folder, &name) };
        done.map_err(|error| self.failed(error))
    }

    pub fn rename(&self, to: &Self, overwrite: bool) -> Result<(), Problem> {
        let (from_folder, from_name) = self.parent(false)?;
        let (to_folder, to_name) = to.parent(true)?;
        let flags = if overwrite { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        rustix::fs::renameat_with(&from_folder, &from_name, &to_folder, &to_name, flags).map_err(|error| match error {
            Errno::EXIST => Problem::invalid(format!("{} exists already; set 'overwrite'", to.shown())),
            error => self.failed(error),
        })
    }

    /// Whether its owner may run it.
    pub fn is_executable(&self) -> bool {
        let stat = self.open(OFlags::PATH).ok().and_then(|fd| rustix::fs::fstat(fd).ok());
        stat.is_some_and(|stat| stat.st_mode & 0o100 != 0)
    }

    /// What lies below it.
    pub fn join(&self, below: impl AsRef<Path>) -> Self {
        Self { root: self.root.clone(), rest: self.rest.join(below) }
    }

    pub fn stat(&self) -> Result<Entry, Problem> {
        let stat = rustix::fs::fstat(self.open(OFlags::PATH)?).map_err(|error| self.failed(error))?;
        let path = self.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(entry(name, &path, &stat))
    }

    pub fn list(&self) -> Result<Vec<Entry>, Problem> {
        let fd = self.open(OFlags::RDONLY | OFlags::DIRECTORY)?;
        let folder = rustix::fs::Dir::read_from(&fd).map_err(|error| self.failed(error))?;
        let mut entries = Vec::new();
        for found in folder.take(ENTRIES_MAX) {
            let found = found.map_err(|error| self.failed(error))?;
            let name = found.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // Gone since it was listed.
            let Ok(stat) = rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let name = name.to_string_lossy().into_owned();
            entries.push(entry(name.clone(), &self.path().join(&name), &stat));
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}

fn entry(name: String, path: &Path, stat: &rustix::fs::Stat) -> Entry {
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Entry {
        name,
        path: path.display().to_string(),
        kind: if is_folder { "directory" } else { "file" },
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: crate::time::rfc3339(stat.st_mtime),
    }
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &OwnedFd, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, rest, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(root, rest, flags),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &OwnedFd, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_by_steps(root, rest, flags)
}

/// Where the kernel cannot be asked to stay beneath: one part at a time, and no links at all.
fn open_by_steps(root: &OwnedFd, rest: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = root.try_clone().map_err(|_| Errno::MFILE)?;
    for part in rest.parent().into_iter().flat_map(Path::components) {
        folder = open_or_make(&folder, part.as_os_str(), false)?;
    }
    rustix::fs::openat(&folder, rest.file_name().unwrap_or(OsStr::new(".")), flags, Mode::empty())
}

fn open_or_make(folder: &OwnedFd, name: &OsStr, create: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) if create => {
            match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            rustix::fs::openat(folder, name, flags, Mode::empty())
        }
        // With both flags a link is "not a directory": whoever changes files names the real folder.
        Err(Errno::NOTDIR) if is_link(folder, name) => Err(Errno::LOOP),
        opened => opened,
    }
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

fn unlink_folder(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn remove_tree(parent: &OwnedFd, name: &OsStr, depth: usize) -> Result<(), Errno> {
    use std::os::unix::ffi::OsStrExt as _;
    if depth > DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    let folder = open_or_make(parent, name, false)?;
    for found in rustix::fs::Dir::read_from(&folder)? {
        let found = found?;
        let inner = OsStr::from_bytes(found.file_name().to_bytes());
        if matches!(inner.as_bytes(), b"." | b"..") {
            continue;
        }
        match rustix::fs::unlinkat(&folder, inner, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(&folder, inner, depth + 1)?,
            done => done?,
        }
    }
    unlink_folder(parent, name)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
