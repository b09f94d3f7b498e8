//! Making text from files safe to show: what a person cannot see, they cannot judge.

pub use wire::visible;

/// One line for a terminal: control characters spelled out too.
pub fn one_line(text: &str) -> String {
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
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| {
            !c.is_whitespace()
                && !c.is_control()
                && !wire::is_hidden(c)
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
        assert_eq!(one_line("a\u{1b}[31m\nb"), "a[U+001B][31m\\u{a}b");
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
