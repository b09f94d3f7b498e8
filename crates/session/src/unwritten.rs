//! Blocks of an answer that is still being spoken, kept beside the transcript.
//!
//! Every line of a message has the message's final counts, so a message is written when it has ended. Until then its
//! finished blocks stand in a file beside the transcript, where they are found after a crash: [`recover`] puts them
//! into the transcript before it is read. Deliberately absent: a lock. A session that two processes write at once may see
//! a block twice, and readers take an entry of one uuid once.

use crate::append::create_private;
use crate::lines::Lines;
use crate::transcript::Transcript;
use rustix::fs::OFlags;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The file of unwritten blocks of a transcript. Lists of sessions look for `.jsonl` at the end of a name.
fn beside(transcript: &Path) -> PathBuf {
    let mut name = transcript.as_os_str().to_owned();
    name.push(".unwritten");
    name.into()
}

/// Writes lines beside the transcript; the first of a message in place of whatever stood there.
fn keep(transcript: &Path, lines: &[Vec<u8>], are_first: bool) -> io::Result<()> {
    let path = beside(transcript);
    let mut file = if are_first {
        forget(transcript);
        create_private(&path)?
    } else {
        OpenOptions::new().append(true).custom_flags(no_links()).open(&path)?
    };
    file.write_all(&lines.concat())
}

/// What stands there may have been put there by somebody else: no link is followed, no pipe waited for.
fn no_links() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// The message has ended, and its lines are in the transcript.
pub(crate) fn forget(transcript: &Path) {
    // Where it cannot be removed, its entries are known by their uuids.
    let _ = std::fs::remove_file(beside(transcript));
}

/// Blocks that a crash left beside the transcript go into it. Nothing happens where there are none; where they cannot be
/// moved, the transcript is what it is without them.
pub fn recover(transcript: &Path) {
    let path = beside(transcript);
    let is_there = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if is_there && moved(transcript, &path).is_ok() {
        forget(transcript);
    }
}

fn moved(transcript: &Path, from: &Path) -> io::Result<()> {
    let known = uuids(transcript)?;
    let mut kept = Lines::open(from)?;
    let mut lines = Vec::new();
    while let Some(line) = kept.next()? {
        let bytes = line.bytes.unwrap_or_default();
        // A line that was cut off by the crash is no JSON.
        if uuid(bytes).is_some_and(|uuid| !known.contains(&uuid)) {
            lines.extend_from_slice(bytes.trim_ascii_end());
            lines.push(b'\n');
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    // The transcript may have been cut in the middle of a line; a blank line is passed over.
    lines.insert(0, b'\n');
    OpenOptions::new().append(true).custom_flags(no_links()).open(transcript)?.write_all(&lines)
}

fn uuids(transcript: &Path) -> io::Result<HashSet<String>> {
    let mut lines = Lines::open(transcript)?;
    let mut found = HashSet::new();
    while let Some(line) = lines.next()? {
        found.extend(line.bytes.and_then(uuid));
    }
    Ok(found)
}

fn uuid(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        uuid: Option<String>,
    }
    serde_json::from_slice::<Named>(line).ok()?.uuid
}

impl Transcript {
    /// Keeps the blocks of an answer that has not ended: uuid, message and request id of each, those kept before included.
    pub fn keep_unwritten<'a>(&mut self, blocks: impl Iterator<Item = (&'a str, &'a Value, Option<&'a str>)>) {
        let Some(path) = self.path().map(Path::to_owned) else { return };
        let mut parent = self.leaf().map(str::to_owned);
        let mut lines = Vec::new();
        for (at, (uuid, message, request_id)) in blocks.enumerate() {
            if at >= self.unwritten {
                lines.extend(self.assistant_line(uuid, message, request_id, None, parent.as_deref()));
            }
            parent = Some(uuid.to_owned());
        }
        if !lines.is_empty() && keep(&path, &lines, self.unwritten == 0).is_ok() {
            self.unwritten += lines.len();
        }
    }
}

#[cfg(test)]
#[path = "unwritten_tests.rs"]
mod tests;
