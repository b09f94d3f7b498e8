//! Files of the loop are private and never someone else's: no link is followed, no file overwritten
//! that we did not make.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

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

/// A file that people or agents write and that we read: a regular file of its own. One below `root` must really be there:
/// no link leads out, and no second name makes another file of it. What is named outside of `root` was named by a person.
pub(crate) fn source(root: &Path, path: &Path) -> io::Result<File> {
    let path = folded(path);
    let Ok(rest) = path.strip_prefix(folded(root)) else {
        return regular(File::options().read(true).custom_flags(NONBLOCK).open(&path)?);
    };
    let file = regular(beneath(root, rest)?)?;
    if file.metadata()?.nlink() > 1 {
        return Err(io::Error::other("it is a hard link, and could be a file from elsewhere; make a copy of it"));
    }
    Ok(file)
}

const NONBLOCK: i32 = OFlags::NONBLOCK.bits() as i32;

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn folded(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                folded.pop();
            }
            part => folded.push(part),
        }
    }
    folded
}

#[cfg(target_os = "linux")]
fn beneath(root: &Path, rest: &Path) -> io::Result<File> {
    use rustix::fs::ResolveFlags;
    let folder = File::open(root)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(&folder, rest, flags, Mode::empty(), resolve) {
        Err(rustix::io::Errno::NOSYS) => beneath_by_name(root, rest),
        Err(rustix::io::Errno::XDEV) => Err(leads_out()),
        opened => Ok(File::from(opened?)),
    }
}

#[cfg(not(target_os = "linux"))]
fn beneath(root: &Path, rest: &Path) -> io::Result<File> {
    beneath_by_name(root, rest)
}

fn beneath_by_name(root: &Path, rest: &Path) -> io::Result<File> {
    let real = root.join(rest).canonicalize()?;
    if real.starts_with(root.canonicalize()?) { existing(&real) } else { Err(leads_out()) }
}

fn leads_out() -> io::Error {
    io::Error::other("it is a link that leads out of this folder; make a copy of the file")
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

/// For reading a file that agents may write: see [`source`].
pub fn open_source(folder: &crate::Folder, path: &Path) -> io::Result<File> {
    source(folder.root(), path)
}

/// Where a run without a terminal complains before it has a recording. A new file each time.
pub fn detached_log(folder: &crate::Folder) -> io::Result<(PathBuf, File)> {
    private_dir(&folder.ralph())?;
    let path = folder.ralph().join("detached.log");
    let file = fresh(&path)?;
    Ok((path, file))
}

/// A whole file at once, so that a reader never sees half of it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or_else(|| io::Error::other("no folder"))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_source_is_a_file_of_this_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (root, secret) = (dir.path().join("w"), dir.path().join("secret"));
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::write(&secret, "PRIVATE").unwrap();
        std::fs::write(root.join("docs/a.md"), "fine").unwrap();
        symlink("docs/a.md", root.join("inside")).unwrap();
        symlink(&secret, root.join("absolute")).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink("..", root.join("up")).unwrap();
        std::fs::hard_link(&secret, root.join("hard")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        for (name, fine) in [
            ("docs/a.md", true),
            ("inside", true),
            ("docs/../inside", true),
            ("absolute", false),
            ("relative", false),
            ("up/secret", false),
            ("hard", false),
            ("fifo", false),
            ("docs", false),
            ("missing", false),
        ] {
            assert_eq!(source(&root, &root.join(name)).is_ok(), fine, "{name}");
        }
        std::fs::remove_file(root.join("hard")).unwrap();
        assert!(source(&root, &root.join("../secret")).is_ok(), "what a person named outside");
    }
}
