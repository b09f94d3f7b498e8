//! `sed`: its options, and whether its script only edits text.
//!
//! `w` writes a file, `e` runs a command, `r` reads a file: a script is accepted only when every command in it is one
//! of the harmless ones. Absent: `-f`, `--follow-symlinks`, and the commands with text of their own (`a`, `i`, `c`).

use super::effects::{Arg, Effects};
use super::options::{Style, parse};
use super::tables::ABOUT;

pub(super) const OPTIONS: &str = "-n --quiet --silent -E -r --regexp-extended -s --separate -u --unbuffered -z \
    --null-data -e= --expression= -i[=] --in-place[=] -l= --line-length= --posix --sandbox";

pub(super) fn effects(args: &[Arg]) -> Option<Effects> {
    let parsed = parse(&[OPTIONS, ABOUT], Style::default(), args)?;
    let mut operands = parsed.operands.iter();
    let mut scripts: Vec<&str> = parsed.values(&["-e", "--expression"]).collect();
    if scripts.is_empty() && !(parsed.has("--help") || parsed.has("--version")) {
        scripts.push(operands.next().filter(|arg| !arg.glob)?.text.as_str());
    }
    if !scripts.iter().all(|script| harmless(script)) {
        return None;
    }
    let files: Vec<Arg> = operands.map(|arg| (*arg).clone()).collect();
    if !(parsed.has("-i") || parsed.has("--in-place")) {
        return Some(Effects { reads: files, ..Effects::default() });
    }
    let mut writes = files.clone();
    for suffix in parsed.values(&["-i", "--in-place"]) {
        // A sign of a path leads elsewhere, a star stands for the name, and what a pattern will be called is not known.
        if suffix.contains(['/', '*']) || files.iter().any(|file| file.glob) {
            return None;
        }
        writes.extend(files.iter().map(|file| Arg::new(format!("{}{suffix}", file.text))));
    }
    Some(Effects { writes, ..Effects::default() })
}

/// Accepts addresses with `p d q = n N D P G H g h x l` and `s`, `y` with harmless flags.
pub(crate) fn harmless(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if matches!(chars[at], ' ' | '\t' | '\n' | ';' | '}') {
            at += 1;
            continue;
        }
        match command(&chars, at) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

fn command(chars: &[char], at: usize) -> Option<usize> {
    let mut at = address(chars, at)?;
    if chars.get(at) == Some(&',') {
        at = address(chars, at + 1)?;
    }
    while matches!(chars.get(at), Some(' ' | '!')) {
        at += 1;
    }
    match chars.get(at)? {
        '{' => Some(at + 1),
        'p' | 'd' | '=' | 'n' | 'N' | 'D' | 'P' | 'G' | 'H' | 'g' | 'h' | 'x' | 'l' => ends(chars, at + 1),
        'q' | 'Q' => ends(chars, digits(chars, at + 1)),
        's' => ends(chars, flags(chars, parts(chars, at + 1)?)),
        'y' => ends(chars, parts(chars, at + 1)?),
        _ => None,
    }
}

fn ends(chars: &[char], at: usize) -> Option<usize> {
    let at = (at..chars.len()).find(|&i| chars[i] != ' ').unwrap_or(chars.len());
    match chars.get(at) {
        None | Some('}') => Some(at),
        Some(';' | '\n') => Some(at + 1),
        Some(_) => None,
    }
}

fn digits(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|&i| !chars[i].is_ascii_digit()).unwrap_or(chars.len())
}

fn address(chars: &[char], at: usize) -> Option<usize> {
    match chars.get(at) {
        Some('$') => Some(at + 1),
        Some(c) if c.is_ascii_digit() || *c == '+' || *c == '~' => {
            let end = digits(chars, at + 1);
            if chars.get(end) == Some(&'~') { Some(digits(chars, end + 1)) } else { Some(end) }
        }
        Some('/') => {
            let end = expression(chars, at + 1, '/')?;
            Some(if chars.get(end) == Some(&'I') { end + 1 } else { end })
        }
        _ => Some(at),
    }
}

/// After the closing delimiter of the second part of `s` or `y`.
fn parts(chars: &[char], at: usize) -> Option<usize> {
    let delimiter = *chars.get(at).filter(|c| c.is_ascii_punctuation() && **c != '\\')?;
    let middle = expression(chars, at + 1, delimiter)?;
    delimited(chars, middle, delimiter)
}

/// A regular expression whose brackets all close before the delimiter: whether a delimiter inside brackets closes
/// differs between implementations.
fn expression(chars: &[char], start: usize, delimiter: char) -> Option<usize> {
    let end = delimited(chars, start, delimiter)?;
    let mut at = start;
    while at < end - 1 {
        match chars[at] {
            '\\' => at += 2,
            '[' => {
                // A `]` right behind the opening is a member, not the end.
                let mut first = at + 1;
                first += usize::from(chars.get(first) == Some(&'^'));
                first += usize::from(chars.get(first) == Some(&']'));
                let members = chars.get(first..end - 1)?;
                let close = members.iter().position(|c| *c == ']')?;
                at = first + close + 1;
                // `[[:alpha:]]`: the class closes first. What else may stand behind a class is not worth a parser.
                if members[..close].contains(&'[') {
                    at = (members.get(close + 1) == Some(&']')).then_some(at + 1)?;
                }
            }
            _ => at += 1,
        }
    }
    Some(end)
}

fn delimited(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            '\n' => return None,
            c if *c == delimiter => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn flags(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|&i| !matches!(chars[i], 'g' | 'p' | 'i' | 'I' | '0'..='9')).unwrap_or(chars.len())
}
