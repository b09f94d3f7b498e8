//! Text of agents made harmless before it reaches a terminal or a log.
//!
//! Colour codes vanish (they are noise); every other control, bidirectional or invisible character is
//! shown by name, so that what a person reads is what is there. Deliberately absent: any attempt to
//! interpret cursor movement.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

pub use crate::is_hidden;

const TAB: &str = "    ";
/// More marks than any script stacks on one letter only serve to paint over other lines.
const MARKS_MAX: usize = 4;
/// Unfinished colour codes are searched for their end no further than this.
const COLOUR_MAX: usize = 64;

/// One harmless line: newlines become visible too.
pub fn line(text: &str) -> Cow<'_, str> {
    clean(text, false)
}

/// Harmless text that keeps its lines.
pub fn block(text: &str) -> Cow<'_, str> {
    clean(text, true)
}

/// At most `max` bytes of the beginning, cut where a character ends.
pub fn head(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// At most `max` bytes of the end, cut where a character begins.
pub fn tail(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

fn clean(text: &str, keep_newlines: bool) -> Cow<'_, str> {
    let harmless = |c: char| (' '..='~').contains(&c) || (keep_newlines && c == '\n');
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut marks = 0;
    while let Some(c) = chars.next() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            '\n' if keep_newlines => out.push('\n'),
            '\r' if keep_newlines && chars.peek() == Some(&'\n') => {}
            '\t' => out.push_str(TAB),
            '\u{1b}' if skip_colour(&mut chars) => {}
            '\u{0}'..='\u{1f}' => out.push(control_picture(c)),
            '\u{7f}' => out.push('␡'),
            // Emoji joined to one picture: joined or not, nothing hides between two pictures.
            '\u{200d}' if joins_pictures(&out, chars.peek().copied()) => {}
            '\u{fe00}'..='\u{fe0f}' => {}
            _ if marks > MARKS_MAX => {}
            _ if is_hidden(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Eats `[…m` after an escape. Anything else stays, so that its text can be read.
fn skip_colour(chars: &mut Peekable<Chars<'_>>) -> bool {
    let mut ahead = chars.clone();
    if ahead.next() != Some('[') {
        return false;
    }
    for _ in 0..COLOUR_MAX {
        match ahead.next() {
            Some('0'..='9' | ';' | ':') => {}
            Some('m') => {
                *chars = ahead;
                return true;
            }
            _ => return false,
        }
    }
    false
}

fn control_picture(c: char) -> char {
    char::from_u32(0x2400 + u32::from(c)).unwrap_or('␦')
}

fn joins_pictures(before: &str, after: Option<char>) -> bool {
    let picture = |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'));
    picture(before.chars().next_back()) && picture(after)
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}
