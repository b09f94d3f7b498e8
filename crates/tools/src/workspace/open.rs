//! Opening files for tools without following links and without ever waiting on one.
//!
//! Deliberately absent: opening by a path that was not resolved by `workspace`.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

pub(crate) fn open_read(real: &Path) -> io::Result<File> {
    // Looking before opening: opening a tape or a watchdog device already does something.
    let kind = FileType::from_raw_mode(rustix::fs::lstat(real)?.st_mode);
    refuse_special(kind)?;
    open_found(real)
}

/// NONBLOCK: should a file have become a FIFO meanwhile, the open returns, and the look after it refuses the FIFO.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn open_found(real: &Path) -> io::Result<File> {
    Ok(regular(open_no_links(real, READ)?)?.0)
}

fn regular(fd: OwnedFd) -> io::Result<(File, Stat)> {
    let stat = rustix::fs::fstat(&fd)?;
    refuse_special(FileType::from_raw_mode(stat.st_mode))?;
    Ok((File::from(fd), stat))
}

/// A folder that is held open while the files below it are looked at. The way to it is walked once, without following
/// links, and not once more for each file.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    fd: OwnedFd,
    path: PathBuf,
}

impl OpenFolder {
    pub(crate) fn open(real: &Path) -> io::Result<Self> {
        Ok(Self { fd: open_folder(real, false)?, path: real.to_owned() })
    }

    /// For files that a walk has just found, and that were regular then.
    pub(crate) fn open_found(&self, real: &Path) -> io::Result<(File, Stat)> {
        #[cfg(target_os = "linux")]
        if let Some(below) = self.below(real) {
            use rustix::fs::{ResolveFlags, openat2};
            match openat2(&self.fd, below, READ | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                Err(Errno::NOSYS | Errno::PERM) => {}
                Err(Errno::LOOP) => return Err(link_appeared()),
                opened => return regular(opened?),
            }
        }
        regular(open_no_links(real, READ)?)
    }

    pub(crate) fn stat(&self, real: &Path) -> io::Result<Stat> {
        Ok(match self.below(real) {
            Some(below) => rustix::fs::statat(&self.fd, below, AtFlags::SYMLINK_NOFOLLOW)?,
            None => rustix::fs::lstat(real)?,
        })
    }

    /// The way from here. By bytes: what a walk finds begins with the walk's own root.
    fn below<'a>(&self, real: &'a Path) -> Option<&'a OsStr> {
        let rest = real.as_os_str().as_bytes().strip_prefix(self.path.as_os_str().as_bytes())?;
        let rest = if self.path.as_os_str().as_bytes().ends_with(b"/") { rest } else { rest.strip_prefix(b"/")? };
        (!rest.is_empty() && !rest.starts_with(b"/")).then(|| OsStr::from_bytes(rest))
    }
}

fn refuse_special(kind: FileType) -> io::Result<()> {
    let name = match kind {
        FileType::RegularFile | FileType::Directory => return Ok(()),
        FileType::Symlink => return Err(link_appeared()),
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "a special file",
    };
    Err(io::Error::other(format!("it is {name}, not a regular file")))
}

pub(crate) fn link_appeared() -> io::Error {
    io::Error::other("a symbolic link appeared in the path after it was checked")
}

#[cfg(target_os = "linux")]
fn open_no_links(real: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    match openat2(CWD, real, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Kernels before 5.6 lack the call, and sandboxes that do not know it forbid it.
        Err(Errno::NOSYS | Errno::PERM) => open_by_steps(real, flags),
        Err(Errno::LOOP) => Err(link_appeared()),
        opened => Ok(opened?),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_no_links(real: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_by_steps(real, flags)
}

fn open_by_steps(real: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return open_folder(real, false);
    };
    let folder = open_folder(parent, false)?;
    let opened = rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    match opened {
        Err(Errno::LOOP) => Err(link_appeared()),
        opened => Ok(opened?),
    }
}

/// Opens a folder one component at a time, so that no component can be a link; creates missing ones on demand.
pub(crate) fn open_folder(real: &Path, create: bool) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
    for part in real.components() {
        let Component::Normal(name) = part else { continue };
        folder = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if create => {
                make_folder(&folder, name)?;
                rustix::fs::openat(&folder, name, flags, Mode::empty())?
            }
            Err(Errno::LOOP) => return Err(link_appeared()),
            // With DIRECTORY and NOFOLLOW together a link, too, is "not a directory".
            opened => opened?,
        };
    }
    Ok(folder)
}

fn make_folder(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn below_an_open_folder_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/f"), "x").unwrap();
        std::fs::write(root.join("dirf"), "y").unwrap();
        symlink("f", root.join("dir/link")).unwrap();
        symlink("dir", root.join("door")).unwrap();
        for base in [root.clone(), root.join("dir"), PathBuf::from("/")] {
            let open = OpenFolder::open(&base).unwrap();
            for (path, content) in [("dir/f", "x"), ("dirf", "y")] {
                let mut text = String::new();
                let (mut file, _) = open.open_found(&root.join(path)).unwrap();
                file.read_to_string(&mut text).unwrap();
                assert_eq!(text, content, "{path} from {}", base.display());
                assert_eq!(open.stat(&root.join(path)).unwrap().st_size, 1);
            }
            for path in ["dir/link", "door/f", "dir/none", "none/f"] {
                assert!(open.open_found(&root.join(path)).is_err(), "{path} from {}", base.display());
            }
        }
        assert!(OpenFolder::open(&root.join("door")).is_err());
        rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(OpenFolder::open(&root).unwrap().open_found(&root.join("fifo")).is_err());
    }

    /// What systems without `openat2` use must refuse the same things.
    #[test]
    fn step_by_step_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        std::fs::write(root.join("dir/f"), "x").unwrap();
        symlink("f", root.join("dir/link")).unwrap();
        symlink("dir", root.join("door")).unwrap();
        let mut text = String::new();
        let opened = open_by_steps(&root.join("dir/f"), OFlags::RDONLY).unwrap();
        File::from(opened).read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        for path in ["dir/link", "door/f", "dir/none", "none/f"] {
            assert!(open_by_steps(&root.join(path), OFlags::RDONLY).is_err(), "{path}");
        }
        assert!(open_folder(&root.join("door/new"), true).is_err());
        assert!(!root.join("dir/new").exists());
    }
}
