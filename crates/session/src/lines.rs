//! The lines of a file, one at a time and of bounded size.

use crate::peek::open_regular;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// A longer line is passed over. The API takes 32 MB a request, so nothing longer can be sent again.
const LINE_MAX: u64 = 64 * 1024 * 1024;

/// A stretch of the file without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    offset: u64,
    length: usize,
}

/// A line and where it is; no bytes if it is too long.
pub(crate) struct Line<'a> {
    pub(crate) span: Span,
    pub(crate) bytes: Option<&'a [u8]>,
}

pub(crate) struct Lines {
    file: BufReader<File>,
    offset: u64,
    buffer: Vec<u8>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufReader::new(open_regular(path)?), offset: 0, buffer: Vec::new() })
    }

    /// `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut taken = (&mut self.file).take(LINE_MAX).read_until(b'\n', &mut self.buffer)? as u64;
        if taken == 0 {
            return Ok(None);
        }
        let whole = self.buffer.pop_if(|last| *last == b'\n').is_some() || taken < LINE_MAX;
        if !whole {
            taken += self.file.skip_until(b'\n')? as u64;
            self.buffer = Vec::new();
        }
        let span = Span { offset: self.offset, length: self.buffer.len() };
        self.offset += taken;
        Ok(Some(Line { span, bytes: whole.then_some(&self.buffer) }))
    }

    /// A line seen before, again.
    pub(crate) fn again(&mut self, span: Span) -> io::Result<&[u8]> {
        self.file.seek(SeekFrom::Start(span.offset))?;
        self.buffer.resize(span.length, 0);
        self.file.read_exact(&mut self.buffer)?;
        Ok(&self.buffer)
    }
}
