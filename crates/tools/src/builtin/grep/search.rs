//! One file searched: its matching lines, ready to print, or how many there are.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkError as _, SinkFinish, SinkMatch,
};
use std::fs::File;
use std::io;

/// Longer lines are data; the model sees where the match is, not all of it.
const LINE_MAX_CHARS: usize = 500;
/// A file that needs more at once (one enormous line, or multiline search in it) is skipped.
const HEAP_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Style {
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) line_numbers: bool,
    pub(crate) only_matching: bool,
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Is there a match at all?
    Any,
    Count,
    /// At most this many lines.
    Lines(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) count: u64,
    pub(crate) lines: Vec<String>,
}

pub(crate) fn matcher(pattern: &str, style: Style) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).unicode(true).octal(false).case_insensitive(style.ignore_case).ban_byte(Some(0));
    if style.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| error.to_string())
}

pub(crate) fn searcher(style: Style) -> Searcher {
    SearcherBuilder::new()
        .line_number(style.line_numbers)
        .multi_line(style.multiline)
        .before_context(style.before)
        .after_context(style.after)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_MAX))
        .build()
}

/// `name` is put before every line; a search of a single file goes without.
pub(crate) fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    file: &File,
    name: Option<&str>,
    style: Style,
    want: Want,
) -> io::Result<Hits> {
    let mut printer = Printer { matcher, name, style, want, hits: Hits::default(), binary: false };
    searcher.search_file(matcher, file, &mut printer)?;
    // Lines found before the first NUL are noise of a binary file.
    Ok(if printer.binary { Hits::default() } else { printer.hits })
}

struct Printer<'a> {
    matcher: &'a RegexMatcher,
    name: Option<&'a str>,
    style: Style,
    want: Want,
    hits: Hits,
    binary: bool,
}

impl Printer<'_> {
    /// Whether to go on.
    fn print(&mut self, number: Option<u64>, separator: char, line: &[u8]) -> bool {
        let Want::Lines(max) = self.want else { return true };
        if self.hits.lines.len() >= max {
            return false;
        }
        let mut printed = String::new();
        if let Some(name) = self.name {
            printed.push_str(name);
            printed.push(separator);
        }
        if let (true, Some(number)) = (self.style.line_numbers, number) {
            printed.push_str(&number.to_string());
            printed.push(separator);
        }
        printed.push_str(&shown(line));
        self.hits.lines.push(printed);
        self.hits.lines.len() < max
    }

    fn print_matches(&mut self, first: Option<u64>, bytes: &[u8]) -> io::Result<bool> {
        let mut found = Vec::new();
        self.matcher
            .find_iter(bytes, |matched| {
                found.push((matched.start(), matched.end()));
                true
            })
            .map_err(io::Error::error_message)?;
        let mut go_on = true;
        for (start, end) in found.into_iter().filter(|(start, end)| start < end) {
            let above = memchr::memchr_iter(b'\n', &bytes[..start]).count() as u64;
            for (number, line) in (above..).zip(bytes[start..end].split_inclusive(|&byte| byte == b'\n')) {
                go_on = self.print(first.map(|first| first + number), ':', line);
            }
        }
        Ok(go_on)
    }
}

fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(LINE_MAX_CHARS) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}… [line cut]", &text[..end]),
    }
}

impl Sink for Printer<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.count += 1;
        match self.want {
            Want::Any => Ok(false),
            Want::Count => Ok(true),
            Want::Lines(_) if self.style.only_matching => self.print_matches(found.line_number(), found.bytes()),
            Want::Lines(_) => {
                let mut go_on = true;
                for (number, line) in (0..).zip(found.lines()) {
                    go_on = self.print(found.line_number().map(|first| first + number), ':', line);
                }
                Ok(go_on)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.style.only_matching || self.print(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if let Want::Lines(max) = self.want
            && self.hits.lines.len() < max
            && !self.style.only_matching
        {
            self.hits.lines.push("--".into());
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
