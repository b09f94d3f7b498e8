//! Whether a file is this user's alone: nobody else could have written it or put it there.
//!
//! Needed where a file of a folder that is not trusted may still count. The file is opened once, and the answer is about
//! what was opened: no link is followed, and owner and mode are those of the open file. Every folder above is looked at,
//! too: whoever can write in one of them can replace everything below. What cannot be found out is "no".
//!
//! Deliberately absent: whether the file came with a repository. That is for git to say.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};

const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// The text of `base/folder/name`, where all of it is this user's alone.
pub(crate) fn read(base: &Path, folder: &str, name: &str, max: u64) -> Option<String> {
    let base = base.canonicalize().ok()?;
    if !base.ancestors().skip(1).all(is_safe_above) {
        return None;
    }
    let base = open(rustix::fs::CWD, &base, OFlags::DIRECTORY).filter(is_own_folder)?;
    // A repository of its own below: the one above does not say whether the file is tracked.
    let folder = open(&base, Path::new(folder), OFlags::DIRECTORY).filter(is_own_folder)?;
    if rustix::fs::statat(&folder, ".git", rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return None;
    }
    let file = open(&folder, Path::new(name), OFlags::NONBLOCK)?;
    let about = file.metadata().ok()?;
    // A second name of the file may be in a folder where others write.
    if !about.is_file() || about.nlink() != 1 || about.len() > max || !is_own(&about) {
        return None;
    }
    let mut text = String::new();
    file.take(max + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= max).then_some(text)
}

fn open(at: impl rustix::fd::AsFd, path: &Path, flags: OFlags) -> Option<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened: OwnedFd = openat(at, path, flags, Mode::empty()).ok()?;
    Some(File::from(opened))
}

fn is_own_folder(folder: &File) -> bool {
    folder.metadata().is_ok_and(|about| about.is_dir() && is_own(&about))
}

fn is_own(about: &Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw() && !others_write(about)
}

/// A group that has the number of the user is the user's own, as many systems set it up.
fn others_write(about: &Metadata) -> bool {
    let is_shared = about.gid() != about.uid();
    about.mode() & OTHERS_WRITE != 0 || (about.mode() & GROUP_WRITES != 0 && is_shared)
}

/// A folder above the project: the user's or root's, and others may at most add to it.
fn is_safe_above(folder: &Path) -> bool {
    let Ok(about) = folder.symlink_metadata() else { return false };
    let is_owned = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
    about.is_dir() && is_owned && (!others_write(&about) || about.mode() & STICKY != 0)
}

#[cfg(test)]
#[path = "own_file_tests.rs"]
mod tests;
