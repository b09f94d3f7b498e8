//! Replacing a file in one step: the new content is written beside it and renamed over it, so readers
//! see the old file or the new one and a crash leaves the old one.
//!
//! Deliberately absent: `fsync`. A power cut may cost the last edit, never the file; waiting for the
//! disk on every edit would cost more than the tool itself.

use super::open::open_folder;
use crate::stamp::Stamp;
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Collisions of 64 random bits are not chance; more attempts would only wait for an attacker.
const NAME_ATTEMPTS: usize = 4;

pub(crate) fn replace(real: &Path, bytes: &[u8], was: Option<&Stamp>) -> io::Result<Stamp> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let folder = open_folder(parent, was.is_none())?;
    require_unchanged(&folder, name, was)?;
    let written = beside(&folder, name, bytes, was);
    match (written, was) {
        (Err(error), Some(was)) if must_write_in_place(&error) => in_place(&folder, name, bytes, was),
        (written, _) => written,
    }
}

fn require_unchanged(folder: &OwnedFd, name: &OsStr, was: Option<&Stamp>) -> io::Result<()> {
    let now = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(Stamp::of_stat(&stat)),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    match (was, now) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(io::ErrorKind::AlreadyExists.into()),
        (Some(was), Some(now)) if was.same_state(&now) => {
            // A rename would happily replace a file that its owner made read-only.
            Ok(rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)?)
        }
        (Some(_), _) => Err(changed_meanwhile()),
    }
}

fn changed_meanwhile() -> io::Error {
    io::Error::other("it was changed or replaced by something else at this very moment; read it again")
}

fn beside(folder: &OwnedFd, name: &OsStr, bytes: &[u8], was: Option<&Stamp>) -> io::Result<Stamp> {
    let (mut file, temp) = create_temp(folder, was.is_some())?;
    let done = fill(&mut file, bytes, was).and_then(|()| rename(folder, &temp, name, was.is_none()));
    if let Err(error) = done {
        // The error that matters is the first one; a temp file that cannot be removed either stays behind.
        let _ = rustix::fs::unlinkat(folder, temp.as_str(), AtFlags::empty());
        return Err(error);
    }
    Ok(Stamp::of(&file.metadata()?))
}

/// A new file gets the mode that the umask leaves; a copy of an old one starts private.
fn create_temp(folder: &OwnedFd, private: bool) -> io::Result<(File, String)> {
    let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NAME_ATTEMPTS {
        let temp = format!(".ralph-{:016x}.tmp", RandomState::new().hash_one(std::process::id()));
        match rustix::fs::openat(folder, temp.as_str(), flags, mode) {
            Ok(fd) => return Ok((File::from(fd), temp)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("no free name for a temporary file beside it"))
}

fn fill(file: &mut File, bytes: &[u8], was: Option<&Stamp>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(was) = was {
        let mine = Stamp::of(&file.metadata()?);
        if (mine.uid, mine.gid) != (was.uid, was.gid) {
            // Only root may give files away; for everybody else the file becomes their own, as with most editors.
            let _ = rustix::fs::fchown(&*file, Some(Uid::from_raw(was.uid)), Some(Gid::from_raw(was.gid)));
        }
        // Permission bits only: new content under an old set-user-id bit would be a gift.
        rustix::fs::fchmod(&*file, Mode::from_raw_mode((was.mode & 0o777) as rustix::fs::RawMode))?;
    }
    Ok(())
}

fn rename(folder: &OwnedFd, temp: &str, name: &OsStr, new: bool) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if new {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(folder, temp, folder, name, RenameFlags::NOREPLACE) {
            // Some file systems do not know the flag; the check just made has to do there.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return Ok(renamed?),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = new;
    Ok(rustix::fs::renameat(folder, temp, folder, name)?)
}

/// A writable file in a folder that is not, or a file that is itself a mount point.
fn must_write_in_place(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::ACCESS, Errno::PERM, Errno::ROFS, Errno::BUSY, Errno::XDEV]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

fn in_place(folder: &OwnedFd, name: &OsStr, bytes: &[u8], was: &Stamp) -> io::Result<Stamp> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    if !was.same_state(&Stamp::of(&file.metadata()?)) {
        return Err(changed_meanwhile());
    }
    file.set_len(0)?;
    file.write_all(bytes)?;
    Ok(Stamp::of(&file.metadata()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where renaming is not possible, such as on a mounted file.
    #[test]
    fn writing_in_place_checks_the_file_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("f");
        std::fs::write(&path, "a longer old content").unwrap();
        let was = Stamp::of(&std::fs::metadata(&path).unwrap());
        let parent = open_folder(&root, false).unwrap();
        let now = in_place(&parent, OsStr::new("f"), b"new", &was).unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), now.ino), (b"new".to_vec(), was.ino));
        assert!(in_place(&parent, OsStr::new("f"), b"newer", &was).is_err(), "it is no longer what it was");
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn only_folders_that_forbid_renaming_lead_there() {
        for (errno, leads) in [(Errno::ACCESS, true), (Errno::BUSY, true), (Errno::NOSPC, false), (Errno::IO, false)] {
            assert_eq!(must_write_in_place(&errno.into()), leads, "{errno}");
        }
    }
}
