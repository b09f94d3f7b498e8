//! Making foreign text safe to show and to pass on: what a person cannot see, they cannot judge.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that reorder or hide text: bidirectional controls, characters without any width, blank letters, and
/// the invisible "tag" alphabet, which has carried instructions that only a model reads. Terminals obey the
/// others. Joiners stay: scripts and emoji need them.
pub fn deceives(c: char) -> bool {
    let joins = matches!(c, '\u{200C}' | '\u{200D}');
    let breaks = matches!(c, '\n' | '\t' | '\r');
    let reorders = matches!(c, '\u{61C}' | '\u{200E}'..='\u{200F}' | '\u{202A}'..='\u{202E}');
    let hides = matches!(c, '\u{AD}' | '\u{180E}' | '\u{200B}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
        || matches!(c, '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E007F}');
    let is_blank = matches!(c, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}');
    !joins && !breaks && (reorders || hides || is_blank || c.is_control())
}

/// The text with deceiving characters spelled out.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(deceives) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if deceives(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        for plain in ["plain é 👩‍💻", "a\n\tb\r\n", "می‌خواهم", ""] {
            assert_eq!(visible(plain), plain);
        }
        assert_eq!(visible("a\u{202E}b\u{E0041}\u{200B}"), "a[U+202E]b[U+E0041][U+200B]");
        assert_eq!(visible("a\u{1b}[8mb"), "a[U+001B][8mb");
    }
}
