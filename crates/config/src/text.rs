//! Making text from files safe to show: what a person cannot see, they cannot judge.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that reorder or hide text: bidirectional controls and the invisible "tag" alphabet, which has
/// carried instructions that only a model reads. Joiners stay: scripts and emoji need them.
fn deceives(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E007F}')
}

/// The text with deceiving characters spelled out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(deceives) {
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

/// One line for a terminal: control characters spelled out too.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if c.is_control() {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// A name a person types after `/` or a model passes to a tool. Anything unprintable is refused.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| {
            !c.is_whitespace()
                && !c.is_control()
                && !deceives(c)
                && !matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{00AD}')
                && !matches!(c, '/' | '\\' | '<' | '>' | '`' | '"')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(visible("plain é 👩‍💻"), "plain é 👩‍💻");
        assert_eq!(visible("a\u{202E}b\u{E0041}"), "a[U+202E]b[U+E0041]");
        assert_eq!(one_line("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\u{a}b");
    }

    #[test]
    fn names_are_plain() {
        for name in ["fix", "my-skill", "dir:skill", "plugin:dir:name", "résumé", "a.b"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in
            ["", "two words", "a/b", "..\\x", "zero\u{200B}width", "bidi\u{202E}", "tag\u{E0041}", "<x>", "a\nb"]
        {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }
}
