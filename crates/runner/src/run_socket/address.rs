//! The address of a run's socket: in the run's folder, or, where that path is too long for a socket, in the runtime folder with a file in the
//! run's folder that says where.

use super::SocketError;
use crate::{Folder, files};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Systems take 104 or 108 bytes, with a zero at the end.
const SOCKET_PATH_MAX: usize = 100;
/// Of a pointer's text; sockets are named in less.
const POINTER_MAX: u64 = 4096;

fn near(folder: &Folder, run: &str) -> PathBuf {
    folder.run(run).join("socket")
}

fn pointer(folder: &Folder, run: &str) -> PathBuf {
    folder.run(run).join("socket.path")
}

/// A socket that listens. Its files are removed with it.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) listener: UnixListener,
    /// Removed at the end.
    made: Vec<PathBuf>,
}

impl Bound {
    /// The caller holds the folder's lock, so a socket that lies there was left by a run that was killed.
    pub(super) fn new(folder: &Folder, run: &str, runtime: Option<&Path>) -> Result<Self, SocketError> {
        let (near, pointer) = (near(folder, run), pointer(folder, run));
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| SocketError::Io { path, source }
        };
        remove_left(&near, &pointer).map_err(fail(&near))?;
        if near.as_os_str().len() <= SOCKET_PATH_MAX {
            let listener = bind(&near).map_err(fail(&near))?;
            return Ok(Self { listener, made: vec![near] });
        }
        let place = short_place(runtime).map_err(fail(Path::new(FALLBACK)))?;
        let listener = bind(&place).map_err(fail(&place))?;
        let bound = Self { listener, made: vec![place.clone(), pointer.clone()] };
        files::replace(&pointer, place.as_os_str().as_encoded_bytes()).map_err(fail(&pointer))?;
        Ok(bound)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        for path in &self.made {
            // What is left is replaced by the next start of this run.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn remove_left(near: &Path, pointer: &Path) -> io::Result<()> {
    if near.symlink_metadata().is_ok_and(|data| data.file_type().is_socket()) {
        std::fs::remove_file(near)?;
    }
    if let Some(place) = pointed(pointer) {
        let _ = std::fs::remove_file(place);
    }
    match std::fs::remove_file(pointer) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

const FALLBACK: &str = "/tmp";

/// A new name in a folder that only this user can enter.
fn short_place(runtime: Option<&Path>) -> io::Result<PathBuf> {
    let folder = match runtime.filter(|folder| folder.is_absolute() && folder.as_os_str().len() < SOCKET_PATH_MAX / 2) {
        Some(runtime) => runtime.join("ralph"),
        None => Path::new(FALLBACK).join(format!("ralph-{}", rustix::process::geteuid().as_raw())),
    };
    files::private_dir(&folder)?;
    let data = folder.symlink_metadata()?;
    if data.uid() != rustix::process::geteuid().as_raw() || data.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!("{} belongs to, or is open to, somebody else", folder.display())));
    }
    let random = RandomState::new().hash_one(std::process::id());
    Ok(folder.join(format!("{random:016x}")))
}

/// The socket that a pointer names: one of ours.
fn pointed(pointer: &Path) -> Option<PathBuf> {
    let mut text = String::new();
    files::existing(pointer).ok()?.take(POINTER_MAX).read_to_string(&mut text).ok()?;
    let path = PathBuf::from(text);
    let data = path.symlink_metadata().ok().filter(|_| path.is_absolute())?;
    (data.file_type().is_socket() && data.uid() == rustix::process::geteuid().as_raw()).then_some(path)
}

/// Where to connect to.
pub(super) fn find(folder: &Folder, run: &str) -> Option<PathBuf> {
    let near = near(folder, run);
    let is_socket = near.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    if is_socket { Some(near) } else { pointed(&pointer(folder, run)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_private_and_removed_at_the_end_and_a_left_one_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir_all(folder.run("r")).unwrap();
        assert_eq!(find(&folder, "r"), None);
        let left = UnixListener::bind(near(&folder, "r")).unwrap();
        drop(left);
        let bound = Bound::new(&folder, "r", None).unwrap();
        assert_eq!(near(&folder, "r").metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(find(&folder, "r"), Some(near(&folder, "r")));
        drop(bound);
        assert_eq!(find(&folder, "r"), None);
    }

    #[test]
    fn where_the_path_is_too_long_a_pointer_says_where() {
        let (dir, runtime) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::new(dir.path().join("x".repeat(120)));
        std::fs::create_dir_all(folder.run("r")).unwrap();
        let bound = Bound::new(&folder, "r", Some(runtime.path())).unwrap();
        let place = find(&folder, "r").unwrap();
        assert!(place.starts_with(runtime.path().join("ralph")), "{place:?}");
        std::os::unix::net::UnixStream::connect(&place).unwrap();
        assert_eq!(runtime.path().join("ralph").metadata().unwrap().mode() & 0o777, 0o700);
        // A run that was killed: the next one removes what it left.
        let second = Bound::new(&folder, "r", Some(runtime.path())).unwrap();
        assert!(!place.exists() && find(&folder, "r").is_some());
        drop((bound, second));
    }

    #[test]
    fn what_was_planted_is_no_address() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir_all(folder.run("r")).unwrap();
        let other = dir.path().join("other");
        let _listener = UnixListener::bind(&other).unwrap();
        std::os::unix::fs::symlink(&other, near(&folder, "r")).unwrap();
        assert_eq!(find(&folder, "r"), None, "a link");
        assert!(Bound::new(&folder, "r", None).is_err(), "a link is not replaced");
        assert!(other.exists());
    }
}
