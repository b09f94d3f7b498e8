//! Lines from a child, however long: one that is too long is passed by.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// An event of the loop holds a line of its agent, which is at most 1 MiB, escaped once more.
const LINE_MAX: usize = 8 * 1024 * 1024;

pub struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), is_too_long: false }
    }

    /// The next line; `None` at the end. May be cancelled and called again.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return None;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |at| at + 1);
            if self.line.len() + taken > LINE_MAX {
                self.is_too_long = true;
                self.line.clear();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            self.reader.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.is_too_long) {
                    return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
            }
        }
    }
}
