//! Text of agents made harmless before it reaches a terminal or a log.

pub use wire::clean::{block, head, is_hidden, line, tail};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        for (given, shown) in [
            ("plain", "plain"),
            ("Grüße, 世界", "Grüße, 世界"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[38:2:1:2:3mx\u{1b}[m", "x"),
            ("\u{1b}[2J", "␛[2J"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "␛]52;c;ZXZpbA==␇"),
            ("\u{1b}", "␛"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("a\rb", "a␍b"),
            ("a\tb", "a    b"),
            ("a\nb", "a␊b"),
            ("\u{202e}gpj.exe", "⟨U+202E⟩gpj.exe"),
            ("\u{2066}x\u{2069}", "⟨U+2066⟩x⟨U+2069⟩"),
            ("r\u{200b}m", "r⟨U+200B⟩m"),
            ("r\u{200d}m", "r⟨U+200D⟩m"),
            ("👩\u{200d}💻", "👩💻"),
            ("✔\u{fe0f}", "✔"),
            ("\u{e0041}", "⟨U+E0041⟩"),
            ("\u{7f}\u{8}", "␡␈"),
            ("a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}b", "a\u{301}\u{301}\u{301}\u{301}b"),
        ] {
            assert_eq!(line(given), shown, "{given:?}");
        }
    }

    #[test]
    fn blocks_keep_their_lines() {
        assert_eq!(block("a\r\nb\n\u{7}"), "a\nb\n␇");
    }

    #[test]
    fn cuts_never_split_a_character() {
        assert_eq!((head("aüb", 2), tail("aüb", 2)), ("a", "b"));
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
    }

    proptest! {
        #[test]
        fn nothing_dangerous_survives(text in "\\PC*|[\\x00-\\x1f\u{80}-\u{9f}\u{200b}-\u{202e}a\\[m;]{0,40}") {
            let cleaned = line(&text).into_owned();
            prop_assert!(!cleaned.chars().any(|c| c.is_control() || is_hidden(c)));
            prop_assert_eq!(line(&cleaned).into_owned(), cleaned.clone());
        }
    }
}
