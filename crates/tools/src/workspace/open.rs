//! Opening files for tools without following links and without ever waiting on one.
//!
//! Deliberately absent: opening by a path that was not resolved by `workspace`.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

pub(crate) fn open_read(real: &Path) -> io::Result<File> {
    // Looking before opening: opening a tape or a watchdog device already does something.
    let kind = FileType::from_raw_mode(rustix::fs::lstat(real)?.st_mode);
    refuse_special(kind)?;
    open_found(real)
}

/// Without looking before: for files that a walk has just found, and that were regular then.
pub(crate) fn open_found(real: &Path) -> io::Result<File> {
    // NONBLOCK: should the file have become a FIFO meanwhile, the open returns and the next line refuses it.
    let fd = open_no_links(real, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    refuse_special(FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode))?;
    Ok(File::from(fd))
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
