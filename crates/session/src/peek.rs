//! A look at a session file without reading all of it: its beginning and its end, as other readers do.

use rustix::fs::OFlags;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// What readers of the official SDKs look at from each end.
const PEEK_BYTES: u64 = 64 * 1024;

pub(crate) struct Peek {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// There is something between head and tail.
    partial: bool,
}

impl Peek {
    /// `None` if the file is empty or cannot be read.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let mut file = open_regular(path).ok()?;
        let length = file.metadata().ok()?.len();
        let mut head = Vec::new();
        (&mut file).take(PEEK_BYTES).read_to_end(&mut head).ok()?;
        let mut tail = Vec::new();
        if length > PEEK_BYTES {
            file.seek(SeekFrom::Start((length - PEEK_BYTES).max(PEEK_BYTES))).ok()?;
            file.take(PEEK_BYTES).read_to_end(&mut tail).ok()?;
        }
        (!head.is_empty()).then_some(Self { head, tail, partial: length > 2 * PEEK_BYTES })
    }

    /// The last title a user gave. Titles stand on lines of their own, appended by whoever renames.
    pub(crate) fn title(&self) -> Option<String> {
        [&self.tail, &self.head].into_iter().find_map(|part| {
            part.rsplit(|byte| *byte == b'\n').filter(|line| has(line, b"\"customTitle\"")).find_map(|line| {
                let entry: Value = serde_json::from_slice(line).ok()?;
                let is_title = entry.get("type").and_then(Value::as_str) == Some("custom-title");
                entry.get("customTitle").filter(|_| is_title)?.as_str().map(str::to_owned)
            })
        })
    }

    /// The entries at the beginning of the file; a line that is cut is left out.
    pub(crate) fn first_entries(&self) -> impl Iterator<Item = Value> {
        self.head.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
    }

    /// Messages of a person and a model, not of a sub-agent and not metadata alone.
    pub(crate) fn is_conversation(&self) -> bool {
        let first = self.head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let sidechain = has(first, b"\"isSidechain\":true") || has(first, b"\"isSidechain\": true");
        let marks: [&[u8]; 4] =
            [b"\"type\":\"user\"", b"\"type\": \"user\"", b"\"type\":\"assistant\"", b"\"type\": \"assistant\""];
        let talks = |part: &[u8]| marks.iter().any(|mark| has(part, mark));
        !sidechain && (self.partial || talks(&self.head) || talks(&self.tail))
    }
}

fn has(text: &[u8], mark: &[u8]) -> bool {
    text.windows(mark.len()).any(|window| window == mark)
}

/// Opens for reading what must be a plain file: a pipe or a device planted there must not hang us.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}
