//! A zip archive, read as far as plugins need it: names, contents, whether a file is a program. Pure.
//!
//! Deliberately absent: encryption, archives of several parts, links. An archive that needs one of them is refused, and
//! so is one whose names lead anywhere but below the folder it is unpacked to.

use std::io::{Cursor, Read as _};
use std::path::{Component, Path, PathBuf};
use zip::CompressionMethod;
use zip::read::{Config, ZipReadOptions};
// The stable reader keeps a table of all entries before their number can be looked at, and only the last entry of a name.
use zip::unstable::read::ZipIterable;

/// Files of one archive; more is no plugin.
const FILES_MAX: usize = 20_000;
/// Their contents together: a small archive may claim to hold any amount.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Below the folder it is unpacked to.
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
}

/// Why an archive is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    #[error("it is not a zip archive")]
    NotAnArchive,
    #[error("it is damaged")]
    Damaged,
    #[error("it holds more than {FILES_MAX} files")]
    TooManyFiles,
    #[error("a name in it is not UTF-8")]
    NameNotText,
    #[error("the name {0:?} in it leads out of its folder")]
    LeadsOut(String),
    #[error("{0} in it is a link")]
    Link(PathBuf),
    #[error("{0} is in it twice")]
    Twice(PathBuf),
    #[error("{0} in it is encrypted")]
    Encrypted(PathBuf),
    #[error("{0} in it makes it larger than {mebibytes} MiB", mebibytes = BYTES_MAX / 1024 / 1024)]
    TooLarge(PathBuf),
    #[error("{0} in it is packed in a way that is not known here ({1})")]
    UnknownMethod(PathBuf, CompressionMethod),
    #[error("{0} in it is damaged")]
    DamagedFile(PathBuf),
    #[error("it cannot be unpacked to {folder}: {reason}")]
    Unpack { folder: PathBuf, reason: String },
}

/// Every file of an archive; folders come of themselves.
pub(crate) fn read(archive: &[u8]) -> Result<Vec<File>, ArchiveError> {
    let mut archive =
        ZipIterable::try_new(Cursor::new(archive), Config::default()).map_err(|_| ArchiveError::NotAnArchive)?;
    if archive.len() > FILES_MAX {
        return Err(ArchiveError::TooManyFiles);
    }
    let entries = archive.files().map_err(|_| ArchiveError::Damaged)?;
    let mut left = BYTES_MAX;
    let mut files: Vec<File> = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|_| ArchiveError::Damaged)?;
        let name = std::str::from_utf8(entry.name_raw()).map_err(|_| ArchiveError::NameNotText)?;
        let Some(path) = safe(name)? else { continue };
        if entry.is_symlink() {
            return Err(ArchiveError::Link(path));
        }
        if files.iter().any(|file| file.path == path) {
            return Err(ArchiveError::Twice(path));
        }
        if entry.encrypted() {
            return Err(ArchiveError::Encrypted(path));
        }
        let size = entry.size();
        if size > left {
            return Err(ArchiveError::TooLarge(path));
        }
        let method = entry.compression();
        if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(ArchiveError::UnknownMethod(path, method));
        }
        let is_program = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        let mut content = Vec::new();
        // The reader checks the sum of the content and ends with an error where there is more than `size`.
        let unpacked = entry
            .with_reader(entries.reader_mut(), ZipReadOptions::new())
            .ok()
            .and_then(|mut reader| reader.read_to_end(&mut content).ok());
        if unpacked.is_none() || content.len() as u64 != size {
            return Err(ArchiveError::DamagedFile(path));
        }
        left -= size;
        files.push(File { path, content, is_program });
    }
    Ok(files)
}

/// The path that a name means; `None` for a folder.
fn safe(name: &str) -> Result<Option<PathBuf>, ArchiveError> {
    let path = Path::new(name);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let leads_out = name.is_empty() || name.contains(['\\', '\0']) || !path.components().all(is_plain);
    if leads_out {
        return Err(ArchiveError::LeadsOut(name.to_owned()));
    }
    let parts: PathBuf = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    Ok(Some(parts).filter(|path| !name.ends_with('/') && !path.as_os_str().is_empty()))
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
