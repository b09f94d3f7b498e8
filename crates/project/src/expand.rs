//! Filling in a skill's or command's text: arguments and variables, in one pass.
//!
//! Absent: running `` !`cmd` `` lines. They come back as segments of their own, cut out of the template before
//! anything is filled in, so that an argument can never become a command.

use std::borrow::Cow;

/// Longer than any variable's name; bounds the search for a closing brace that is not there.
const VARIABLE_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Text(String),
    /// To be run under the rules of the Bash tool; its output stands in its place.
    Shell {
        command: String,
    },
}

/// `names` are the declared arguments, `variables` what `${NAME}` stands for.
pub fn expand(body: &str, args: &str, names: &[String], variables: &[(&str, &str)]) -> Vec<Segment> {
    let words = split_arguments(args);
    let mut filling = Filling { args, words: &words, names, variables, used: false };
    let mut segments: Vec<Segment> = cut(body)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Segment::Text(filling.fill(text)),
            Piece::Shell(command) => Segment::Shell { command: filling.fill(command.trim()) },
        })
        .collect();
    if !filling.used && !args.trim().is_empty() {
        let tail = format!("\n\nARGUMENTS: {args}");
        match segments.last_mut() {
            Some(Segment::Text(text)) => {
                text.truncate(text.trim_end().len());
                text.push_str(&tail);
            }
            _ => segments.push(Segment::Text(tail)),
        }
    }
    segments
}

/// Words as a shell would see them; text with an open quote is split at spaces.
pub fn split_arguments(args: &str) -> Vec<String> {
    quoted_words(args).unwrap_or_else(|| args.split_whitespace().map(str::to_owned).collect())
}

fn quoted_words(args: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = args.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(chars.next()?),
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

enum Piece<'a> {
    Text(&'a str),
    Shell(&'a str),
}

/// `` !`cmd` `` at the start of a line or after a space, and blocks fenced with ```` ```! ````.
fn cut(body: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while let Some(found) = next_shell(body, at) {
        if text_from < found.start {
            pieces.push(Piece::Text(&body[text_from..found.start]));
        }
        pieces.push(Piece::Shell(&body[found.command.clone()]));
        text_from = found.end;
        at = found.end;
    }
    if text_from < body.len() {
        pieces.push(Piece::Text(&body[text_from..]));
    }
    pieces
}

struct Shell {
    start: usize,
    command: std::ops::Range<usize>,
    end: usize,
}

fn next_shell(body: &str, from: usize) -> Option<Shell> {
    let bytes = body.as_bytes();
    (from..bytes.len()).filter(|&at| matches!(bytes[at], b'!' | b'`')).find_map(|at| {
        let rest = &body[at..];
        let line_start = at == 0 || bytes[at - 1] == b'\n';
        if line_start && let Some(block) = rest.strip_prefix("```!") {
            let first = block.find('\n')? + 1;
            let close = block[first..].find("\n```").map(|close| first + close)?;
            let start = at + "```!".len();
            return Some(Shell {
                start: at,
                command: start + first..start + close,
                end: start + close + "\n```".len(),
            });
        }
        let after_space = line_start || bytes[at - 1].is_ascii_whitespace();
        let command = rest.strip_prefix("!`").filter(|_| after_space)?;
        let close = command.find(['`', '\n']).filter(|&close| command.as_bytes()[close] == b'`' && close > 0)?;
        let start = at + "!`".len();
        Some(Shell { start: at, command: start..start + close, end: start + close + 1 })
    })
}

struct Filling<'a> {
    args: &'a str,
    words: &'a [String],
    names: &'a [String],
    variables: &'a [(&'a str, &'a str)],
    /// Whether the template has a place for arguments at all.
    used: bool,
}

impl Filling<'_> {
    fn fill(&mut self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() + self.args.len());
        let mut rest = template;
        while let Some(at) = rest.find('$') {
            let (before, dollar) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('\\') {
                out.push_str(before);
                out.push('$');
                rest = &dollar[1..];
                continue;
            }
            out.push_str(before);
            let (value, length) = self.placeholder(&dollar[1..]).unwrap_or((Cow::Borrowed("$"), 0));
            out.push_str(&value);
            rest = &dollar[1 + length..];
        }
        out.push_str(rest);
        out
    }

    /// What the text after `$` stands for and how long its name is.
    fn placeholder(&mut self, rest: &str) -> Option<(Cow<'static, str>, usize)> {
        if let Some(inner) = rest.strip_prefix('{') {
            let end = inner.bytes().take(VARIABLE_MAX).position(|b| b == b'}')?;
            let (_, value) = self.variables.iter().find(|(name, _)| *name == &inner[..end])?;
            return Some((Cow::Owned((*value).to_owned()), end + 2));
        }
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let name = &rest[..length];
        if let Ok(index) = name.parse::<usize>() {
            return self.word(index, length);
        }
        if name == "ARGUMENTS" {
            let inner = rest[length..].strip_prefix('[').unwrap_or_default();
            let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
            if inner[digits..].starts_with(']')
                && let Ok(index) = inner[..digits].parse::<usize>()
            {
                return self.word(index, length + digits + "[]".len());
            }
            self.used = true;
            return Some((Cow::Owned(self.args.to_owned()), length));
        }
        let index = self.names.iter().position(|known| known == name)?;
        self.used = true;
        Some((Cow::Owned(self.words.get(index).cloned().unwrap_or_default()), length))
    }

    /// A number that no argument has stays as it is written: `$5` may be a price.
    fn word(&mut self, index: usize, length: usize) -> Option<(Cow<'static, str>, usize)> {
        let word = self.words.get(index)?.clone();
        self.used = true;
        Some((Cow::Owned(word), length))
    }
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
