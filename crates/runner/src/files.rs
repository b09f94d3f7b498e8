//! Files of the loop are private and never someone else's: no link is followed, no file overwritten
//! that we did not make.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// A folder only we can look into.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) if path.symlink_metadata()?.is_dir() => Ok(()),
        Ok(()) => Err(io::Error::other(format!("{} is a link; remove it", path.display()))),
        Err(error) => Err(error),
    }
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::CREATE;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// For reading, where it is a file and no link.
pub(crate) fn existing(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

pub(crate) fn append(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK)
}

pub(crate) fn fresh(path: &Path) -> io::Result<File> {
    open(path, OFlags::WRONLY | OFlags::TRUNC | OFlags::NONBLOCK)
}

pub(crate) fn shared(path: &Path) -> io::Result<File> {
    open(path, OFlags::RDWR | OFlags::NONBLOCK)
}

/// A whole file at once, so that a reader never sees half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("no folder"))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
