//! A zip archive, read as far as plugins need it: names, contents, whether a file is a program. Pure.
//!
//! Deliberately absent: encryption, archives of several parts, sizes beyond 4 GiB, links. An archive that needs one
//! of them is refused, and so is one whose names lead anywhere but below the folder it is unpacked to.

use std::path::{Component, Path, PathBuf};

/// Files of one archive; more is no plugin.
const FILES_MAX: usize = 20_000;
/// Their contents together: a small archive may claim to hold any amount.
const BYTES_MAX: usize = 256 * 1024 * 1024;

const END: &[u8] = b"PK\x05\x06";
const END_SIZE: usize = 22;
/// The end may be followed by a comment of this size.
const COMMENT_MAX: usize = u16::MAX as usize;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_SIZE: usize = 46;
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_SIZE: usize = 30;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

const ENCRYPTED: u16 = 1;
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Below the folder it is unpacked to.
    pub(crate) path: PathBuf,
    pub(crate) content: Vec<u8>,
    pub(crate) is_program: bool,
}

/// Every file of an archive; folders come of themselves.
pub(crate) fn read(archive: &[u8]) -> Result<Vec<File>, String> {
    let end = find_end(archive).ok_or("it is not a zip archive")?;
    let count = usize::from(u16_at(archive, end + 10)?);
    if count > FILES_MAX {
        return Err(format!("it holds more than {FILES_MAX} files"));
    }
    let mut at = u32_at(archive, end + 16)? as usize;
    let mut left = BYTES_MAX;
    let mut files: Vec<File> = Vec::new();
    for _ in 0..count {
        let entry = Entry::read(archive, at)?;
        at = entry.next;
        let Some(path) = safe(&entry.name)? else { continue };
        if entry.mode & KIND == LINK {
            return Err(format!("{} in it is a link", path.display()));
        }
        if files.iter().any(|file| file.path == path) {
            return Err(format!("{} is in it twice", path.display()));
        }
        let content = entry.content(archive, left).map_err(|why| format!("{} in it {why}", path.display()))?;
        left = left.saturating_sub(content.len());
        files.push(File { path, content, is_program: entry.mode & 0o111 != 0 });
    }
    Ok(files)
}

/// One line of the archive's table of contents.
struct Entry {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    size: usize,
    mode: u32,
    start: usize,
    next: usize,
}

impl Entry {
    fn read(archive: &[u8], at: usize) -> Result<Self, String> {
        if slice(archive, at, ENTRY.len())? != ENTRY {
            return Err(BROKEN.into());
        }
        let length = |offset: usize| u16_at(archive, at + offset).map(usize::from);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let text = slice(archive, at + ENTRY_SIZE, name)?;
        Ok(Self {
            name: std::str::from_utf8(text).map_err(|_| "a name in it is not UTF-8")?.to_owned(),
            flags: u16_at(archive, at + 8)?,
            method: u16_at(archive, at + 10)?,
            crc: u32_at(archive, at + 16)?,
            packed: u32_at(archive, at + 20)? as usize,
            size: u32_at(archive, at + 24)? as usize,
            mode: u32_at(archive, at + 38)? >> 16,
            start: u32_at(archive, at + 42)? as usize,
            next: at + ENTRY_SIZE + name + extra + comment,
        })
    }

    fn content(&self, archive: &[u8], most: usize) -> Result<Vec<u8>, String> {
        if self.flags & ENCRYPTED != 0 {
            return Err("is encrypted".into());
        }
        if self.size > most {
            return Err(format!("makes it larger than {} MiB", BYTES_MAX / 1024 / 1024));
        }
        if slice(archive, self.start, LOCAL.len())? != LOCAL {
            return Err(BROKEN.into());
        }
        // The lengths here may differ from those in the table.
        let (name, extra) = (u16_at(archive, self.start + 26)?, u16_at(archive, self.start + 28)?);
        let from = self.start + LOCAL_SIZE + usize::from(name) + usize::from(extra);
        let packed = slice(archive, from, self.packed)?;
        let content = match self.method {
            STORED => packed.to_vec(),
            DEFLATED => miniz_oxide::inflate::decompress_to_vec_with_limit(packed, self.size).map_err(|_| BROKEN)?,
            other => return Err(format!("is packed in a way that is not known here ({other})")),
        };
        if content.len() != self.size || crc32fast::hash(&content) != self.crc {
            return Err(BROKEN.into());
        }
        Ok(content)
    }
}

const BROKEN: &str = "is damaged";

fn find_end(archive: &[u8]) -> Option<usize> {
    let last = archive.len().checked_sub(END_SIZE)?;
    (last.saturating_sub(COMMENT_MAX)..=last).rev().find(|at| archive[*at..].starts_with(END))
}

/// The path that a name means; `None` for a folder.
fn safe(name: &str) -> Result<Option<PathBuf>, String> {
    let path = Path::new(name);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let leads_out = name.is_empty() || name.contains(['\\', '\0']) || !path.components().all(is_plain);
    if leads_out {
        return Err(format!("the name {name:?} in it leads out of its folder"));
    }
    let parts: PathBuf = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    Ok(Some(parts).filter(|path| !name.ends_with('/') && !path.as_os_str().is_empty()))
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or_else(|| BROKEN.to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    slice(bytes, at, 2).map(|two| u16::from_le_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    slice(bytes, at, 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
