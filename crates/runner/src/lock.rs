//! One loop per folder. The kernel holds the lock for the process, so that one left behind by a crash is
//! free, whoever has its process number now; the file only says who holds it.

use crate::Folder;
use crate::files;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another ralph is at work in this folder: {owner}. Wait for its end, or stop it.")]
    Held { owner: String },
    #[error("{} cannot be used as a lock: {source}", file.display())]
    Io { file: PathBuf, source: std::io::Error },
}

/// What is said of an owner fits a line.
const OWNER_MAX: u64 = 200;
/// A reader holds the lock for a moment only, so a taken lock is asked for again during this time.
const PATIENCE: Duration = Duration::from_millis(300);
const ASK_AGAIN: Duration = Duration::from_millis(20);

impl Lock {
    pub fn take(folder: &Folder, owner: &str) -> Result<Self, LockError> {
        let path = folder.lock();
        let fail = |source: std::io::Error| LockError::Io { file: path.clone(), source };
        files::private_dir(&folder.ralph()).map_err(fail)?;
        let mut file = files::shared(&path).map_err(fail)?;
        let until = Instant::now() + PATIENCE;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(ASK_AGAIN),
                Err(Errno::WOULDBLOCK) => return Err(LockError::Held { owner: named(file) }),
                Err(error) => return Err(fail(error.into())),
            }
        }
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(owner.as_bytes()));
        written.map_err(fail)?;
        Ok(Self { _file: file })
    }

    /// Who is at work in this folder, where somebody is. Nothing is made or kept.
    pub fn holder(folder: &Folder) -> Option<String> {
        let file = files::existing(&folder.lock()).ok()?;
        matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK)).then(|| named(file))
    }
}

fn named(file: File) -> String {
    let mut owner = String::new();
    // Unreadable owners are still owners.
    let _ = file.take(OWNER_MAX).read_to_string(&mut owner);
    owner.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adversary_48_the_second_is_told_who_the_first_is_and_a_stale_lock_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        assert_eq!(Lock::holder(&folder), None);
        let first = Lock::take(&folder, "process 1, run a").unwrap();
        assert_eq!(Lock::holder(&folder).as_deref(), Some("process 1, run a"));
        let error = Lock::take(&folder, "process 2").unwrap_err().to_string();
        assert!(error.contains("process 1, run a"), "{error}");
        drop(first);
        std::fs::write(folder.lock(), "process 99999999, left behind").unwrap();
        assert_eq!(Lock::holder(&folder), None);
        Lock::take(&folder, "process 3").unwrap();
    }

    #[test]
    fn adversary_34_a_planted_link_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.lock()).unwrap();
        assert!(matches!(Lock::take(&folder, "x"), Err(LockError::Io { .. })));
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    }
}
