//! Characters that hide or reorder text, and showing them. What a person cannot see, they cannot judge.
//!
//! One list for everything that is read from files, servers and agents. Deliberately absent: what a terminal would
//! obey beyond that, which is the screen's business.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that take no room, or that change where others stand: bidirectional controls, zero-width characters,
/// fillers, and the invisible "tag" and selector alphabets, which have carried instructions that only a model reads.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Joiners shape letters of many scripts, and pictures; between plain letters they have nothing to do.
fn joins(before: Option<char>, c: char, after: Option<char>) -> bool {
    let shaped = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
    matches!(c, '\u{200c}' | '\u{200d}') && shaped(before) && shaped(after)
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// The text with what hides spelled out: `[U+202E]`. Lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let suspicious = |c: char| is_hidden(c) || (c.is_ascii() && !is_plain(c as u8));
    if text.bytes().all(is_plain) || !text.contains(suspicious) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        if suspicious(c) && !joins(before, c, chars.peek().copied()) {
            // Writing to a String cannot fail.
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_spelled_out_and_what_writes_stays() {
        for (given, shown) in [
            ("plain\n\ttext\r\n", "plain\n\ttext\r\n"),
            ("é 世界 👩‍💻 ❤️", "é 世界 👩‍💻 ❤️"),
            ("می‌خواهم", "می‌خواهم"),
            ("a\u{202e}b\u{e0041}", "a[U+202E]b[U+E0041]"),
            ("r\u{200b}m a\u{200d}b", "r[U+200B]m a[U+200D]b"),
            ("👩\u{200d}\u{200d}\u{200d}x", "👩[U+200D][U+200D][U+200D]x"),
            ("\u{1b}[8mgone", "[U+001B][8mgone"),
            ("soft\u{ad}hyphen \u{feff}", "soft[U+00AD]hyphen [U+FEFF]"),
        ] {
            assert_eq!(visible(given), shown, "{given:?}");
        }
    }
}
