//! A page of a text file, in bounded memory whatever the file holds: only the lines asked for are
//! kept, and of a long line only its beginning.

use crate::worker::Stop;
use std::io::{self, Read};

/// Longer lines are data, not text to be read; the model gets the beginning and is told.
pub(crate) const LINE_MAX_CHARS: usize = 2000;
/// A character has at most four bytes, so this many bytes are always enough to cut at a character.
const LINE_KEEP_BYTES: usize = LINE_MAX_CHARS * 4;
/// Past this a file's lines are no longer counted: well under a second from a warm cache.
const SCAN_MAX: u64 = 256 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
/// Line number, tab and newline, which the model also pays for.
const LINE_OVERHEAD: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) lines: Vec<String>,
    /// Lines in the file. A trailing newline begins a last, empty line.
    pub(crate) total: usize,
    /// False if the file was too long to count: `total` is then a lower bound.
    pub(crate) counted: bool,
    /// More lines were asked for than the budget allowed.
    pub(crate) cut: bool,
}

/// Lines `first..first + limit` (1-based) as far as `budget` bytes reach, at least one.
pub(crate) fn page(
    mut from: impl Read,
    first: usize,
    limit: Option<usize>,
    budget: usize,
    stop: &Stop,
) -> io::Result<Page> {
    let mut scan = Scan::new(first, limit, budget);
    let mut chunk = vec![0; CHUNK];
    let mut seen = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read == 0 {
            scan.end_line();
            return Ok(scan.finish(true));
        }
        seen += read as u64;
        scan.take(&chunk[..read]);
        if seen > SCAN_MAX || stop.now() {
            return Ok(scan.finish(false));
        }
    }
}

struct Scan {
    first: usize,
    /// First line no longer wanted.
    end: usize,
    budget: usize,
    lines: Vec<String>,
    number: usize,
    line: Vec<u8>,
    line_len: usize,
    cut: bool,
}

impl Scan {
    fn new(first: usize, limit: Option<usize>, budget: usize) -> Self {
        let end = limit.map_or(usize::MAX, |limit| first.saturating_add(limit));
        Self { first, end, budget, lines: Vec::new(), number: 1, line: Vec::new(), line_len: 0, cut: false }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.cut || self.number >= self.end {
                self.number += memchr::memchr_iter(b'\n', bytes).count();
                return;
            }
            let newline = memchr::memchr(b'\n', bytes);
            self.extend(&bytes[..newline.unwrap_or(bytes.len())]);
            let Some(newline) = newline else { return };
            self.end_line();
            self.number += 1;
            bytes = &bytes[newline + 1..];
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.number >= self.first {
            let room = LINE_KEEP_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
            self.line_len += bytes.len();
        }
    }

    fn end_line(&mut self) {
        let wanted = self.number >= self.first && self.number < self.end && !self.cut;
        if wanted {
            let line = shown(&self.line, self.line_len);
            let cost = line.len() + LINE_OVERHEAD;
            if cost > self.budget && !self.lines.is_empty() {
                self.cut = true;
            } else {
                self.budget = self.budget.saturating_sub(cost);
                self.lines.push(line);
            }
        }
        self.line.clear();
        self.line_len = 0;
    }

    fn finish(self, counted: bool) -> Page {
        Page { lines: self.lines, total: self.number, counted, cut: self.cut }
    }
}

fn shown(kept: &[u8], len: usize) -> String {
    let kept = if kept.len() == len { kept.strip_suffix(b"\r").unwrap_or(kept) } else { kept };
    // A NUL reaches the model as a character that some endpoints refuse.
    let text = String::from_utf8_lossy(kept).replace('\0', "\u{fffd}");
    match text.char_indices().nth(LINE_MAX_CHARS) {
        None => text,
        Some((end, _)) => {
            format!("{}… [line cut here: {} bytes more]", &text[..end], len.saturating_sub(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn read(text: &[u8], first: usize, limit: Option<usize>, budget: usize) -> Page {
        page(text, first, limit, budget, &Stop::after(Duration::from_mins(1))).unwrap()
    }

    fn lines(text: &str, first: usize, limit: Option<usize>) -> (Vec<String>, usize) {
        let page = read(text.as_bytes(), first, limit, usize::MAX);
        assert!(page.counted && !page.cut);
        (page.lines, page.total)
    }

    #[test]
    fn windows_of_small_files() {
        for (text, first, limit, shown, total) in [
            ("", 1, None, vec![""], 1),
            ("a\nb\nc\n", 1, None, vec!["a", "b", "c", ""], 4),
            ("a\nb\nc", 1, None, vec!["a", "b", "c"], 3),
            ("a\nb\nc\n", 2, Some(1), vec!["b"], 4),
            ("a\nb\nc\n", 4, None, vec![""], 4),
            ("a\nb\nc\n", 5, Some(9), vec![], 4),
            ("a\r\nb\r\n", 1, None, vec!["a", "b", ""], 3),
            ("a\rb\n", 1, Some(1), vec!["a\rb"], 2),
        ] {
            let shown: Vec<String> = shown.into_iter().map(str::to_owned).collect();
            assert_eq!(lines(text, first, limit), (shown, total), "{text:?} {first} {limit:?}");
        }
    }

    #[test]
    fn long_lines_are_cut_at_a_character() {
        let (lines, _) = lines(&"é".repeat(LINE_MAX_CHARS + 5), 1, None);
        assert_eq!(lines, [format!("{}… [line cut here: 10 bytes more]", "é".repeat(LINE_MAX_CHARS))]);
    }

    #[test]
    fn one_line_of_64_mib_costs_little_memory() {
        let page = page(io::repeat(b'x').take(64 << 20), 1, None, 1000, &Stop::after(Duration::from_mins(1))).unwrap();
        assert_eq!((page.total, page.lines.len(), page.cut), (1, 1, false));
        assert!(page.lines[0].len() < LINE_KEEP_BYTES);
    }

    #[test]
    fn endless_input_is_not_counted_to_the_end() {
        let page = page(io::repeat(b'\n'), 1, None, 100, &Stop::after(Duration::from_mins(1))).unwrap();
        assert!(!page.counted && page.cut);
    }

    #[test]
    fn the_budget_cuts_but_shows_at_least_one_line() {
        let page = read(b"aaaa\nbbbb\ncccc\n", 1, None, 25);
        assert_eq!((page.lines, page.total, page.cut), (vec!["aaaa".to_owned(), "bbbb".to_owned()], 4, true));
        assert_eq!(read(b"aaaa\nb", 1, None, 0).lines, ["aaaa"]);
    }

    proptest! {
        #[test]
        fn pages_are_the_lines_of_the_file(text in "[a-c\n]{0,200}", first in 1usize..30, limit in 1usize..30) {
            let all: Vec<String> = text.split('\n').map(str::to_owned).collect();
            let wanted: Vec<String> = all.iter().skip(first - 1).take(limit).cloned().collect();
            prop_assert_eq!(lines(&text, first, Some(limit)), (wanted, all.len()));
        }
    }
}
