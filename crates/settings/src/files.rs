//! The only file access of this crate: bounded reads that cannot hang, atomic private writes, bounded locks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::SettingsError;

/// How often a held lock is tried again: unnoticeable to a person, cheap for the machine.
const LOCK_POLL: Duration = Duration::from_millis(25);
/// A JSON file that we are asked to change. Real state files stay far below this.
pub const STATE_MAX: u64 = 64 * 1024 * 1024;

/// The mode of a folder that the sandbox of an agent puts in the place of a file that does not exist.
const KEPT_FREE: u32 = 0o711;

#[derive(Debug, thiserror::Error)]
pub enum ReadFailure {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a regular file")]
    NotRegular,
    #[error("it is larger than the limit of {} KiB", .0 / 1024)]
    TooLarge(u64),
    #[error("it is not UTF-8 text")]
    NotText,
}

pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opened without blocking, so that a FIFO planted under a known name cannot stop the start.
fn open_regular(path: &Path) -> Result<Option<(File, u64)>, ReadFailure> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(nonblocking).open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if metadata.is_dir() && metadata.permissions().mode() & 0o777 == KEPT_FREE {
        return Ok(None);
    }
    if metadata.is_file() { Ok(Some((file, metadata.len()))) } else { Err(ReadFailure::NotRegular) }
}

/// The whole file, `None` where there is none.
pub fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, ReadFailure> {
    let Some((file, length)) = open_regular(path)? else { return Ok(None) };
    if length > max {
        return Err(ReadFailure::TooLarge(max));
    }
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(ReadFailure::TooLarge(max)) } else { Ok(Some(bytes)) }
}

/// The whole file as text without a byte-order mark.
pub fn read_text(path: &Path, max: u64) -> Result<Option<String>, ReadFailure> {
    let Some(bytes) = read(path, max)? else { return Ok(None) };
    let mut text = String::from_utf8(bytes).map_err(|_| ReadFailure::NotText)?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(Some(text))
}

/// At most the first `max` bytes, and whether that was all.
pub fn read_head(path: &Path, max: u64) -> Result<Option<(Vec<u8>, bool)>, ReadFailure> {
    let Some((file, length)) = open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::with_capacity(length.min(max) as usize + 1);
    file.take(max).read_to_end(&mut bytes)?;
    let whole = (bytes.len() as u64) < max || length <= max;
    Ok(Some((bytes, whole)))
}

/// Where writing to `path` really lands, so that replacing keeps a link to a dotfiles folder a link.
fn landing(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Replaces the file in one step, readable by its owner alone.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), SettingsError> {
    let target = landing(path);
    let written = || -> io::Result<()> {
        let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut temporary = tempfile::Builder::new().prefix(".ralph-").tempfile_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|failed| failed.error)?;
        Ok(())
    };
    written().map_err(|source| SettingsError::Write { file: path.to_owned(), source })
}

/// Held until dropped. The lock is a file of its own, so that replacing the data keeps it; its name is not
/// `<file>.lock`, which the reference makes as a folder and would take for its own.
#[derive(Debug)]
pub struct FileLock {
    _held: File,
}

impl FileLock {
    pub fn acquire(data: &Path, patience: Duration) -> Result<Self, SettingsError> {
        let mut name = landing(data).into_os_string();
        name.push(".ralph-lock");
        let path = PathBuf::from(name);
        let failed = |source| SettingsError::Write { file: path.clone(), source };
        if let Some(folder) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(&path)
            .map_err(failed)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _held: file }),
                Err(TryLockError::WouldBlock) if started.elapsed() < patience => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => {
                    return Err(SettingsError::Locked { file: data.to_owned(), seconds: patience.as_secs() });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
    }
}

/// The JSON object in a file that we are about to change; empty where there is none, refused where it is broken.
pub fn read_object(path: &Path) -> Result<serde_json::Map<String, serde_json::Value>, SettingsError> {
    let refused = |reason: String| SettingsError::Refused { file: path.to_owned(), reason };
    let Some(text) = read_text(path, STATE_MAX).map_err(|failure| refused(failure.to_string()))? else {
        return Ok(serde_json::Map::new());
    };
    if text.trim().is_empty() {
        return Ok(serde_json::Map::new());
    }
    serde_json::from_str(&text).map_err(|error| refused(format!("it is not a JSON object ({error})")))
}

/// Writes an object the way the reference does, so that a diff of the file stays small.
pub fn write_object(path: &Path, object: &serde_json::Map<String, serde_json::Value>) -> Result<(), SettingsError> {
    let mut text = serde_json::to_string_pretty(object)
        .map_err(|error| SettingsError::Refused { file: path.to_owned(), reason: error.to_string() })?;
    text.push('\n');
    write_private(path, text.as_bytes())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
