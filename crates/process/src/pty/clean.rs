//! Output for a terminal, made into text: escape sequences and control characters go, lines stay.
//!
//! The one place that knows them. A sequence may be cut anywhere between two reads; it never outlives its
//! line, so that one without an end cannot swallow what follows. Carriage returns stay: whoever reads lines
//! knows what they overwrote.

#[derive(Debug, Default)]
pub(crate) struct Clean {
    within: Within,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    /// After the escape character.
    Escape,
    /// A short sequence with more to come, as for character sets.
    Short,
    /// A control sequence: colours, movement, modes.
    Control,
    /// A title, a link, a picture: text up to a bell or `ESC \`.
    Words,
    /// An escape character in such text: its end, or the beginning of another sequence.
    WordsEscape,
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

impl Clean {
    pub(crate) fn append(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        let mut rest = bytes;
        while let Some((first, others)) = rest.split_first() {
            if self.within == Within::Text {
                let plain = rest.iter().position(|byte| !is_text(*byte)).unwrap_or(rest.len());
                if plain > 0 {
                    into.extend_from_slice(&rest[..plain]);
                    rest = &rest[plain..];
                    continue;
                }
            }
            self.within = after(self.within, *first);
            // What ends a line ends everything; what no sequence can hold was text.
            if *first == b'\n' || (*first >= 0x80 && self.within == Within::Text) {
                into.push(*first);
            }
            rest = others;
        }
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b'\t') || (byte >= 0x20 && byte != 0x7f)
}

fn after(within: Within, byte: u8) -> Within {
    const CANCEL: u8 = 0x18;
    const SUBSTITUTE: u8 = 0x1a;
    match (within, byte) {
        (_, b'\n' | CANCEL | SUBSTITUTE) | (Within::Words, BELL) | (Within::WordsEscape, b'\\') => Within::Text,
        (Within::Words, ESCAPE) => Within::WordsEscape,
        (Within::Words, _) => Within::Words,
        (_, ESCAPE) => Within::Escape,
        (Within::Text, _) => Within::Text,
        (Within::Escape | Within::WordsEscape, b'[') | (Within::Control, 0x20..=0x3f) => Within::Control,
        (Within::Escape | Within::WordsEscape, b']' | b'P' | b'X' | b'^' | b'_') => Within::Words,
        (Within::Escape | Within::WordsEscape | Within::Short, 0x20..=0x2f) => Within::Short,
        // Terminals obey these in the midst of a sequence, and go on with it.
        (unfinished, 0x00..=0x1f) => unfinished,
        _ => Within::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(text: &[u8]) -> Vec<u8> {
        let mut into = Vec::new();
        Clean::default().append(text, &mut into);
        into
    }

    #[test]
    fn sequences_go_and_text_stays() {
        for (written, left) in [
            ("plain\ttext\r\n", "plain\ttext\r\n"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[?25l\u{1b}[2J\u{1b}[1;1H{}\u{1b}[?25h", "{}"),
            ("\u{1b}]0;a title\u{7}x", "x"),
            ("\u{1b}]8;;http://a/b\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}P1;2|data\u{1b}\\x\u{1b}_app\u{1b}\\y", "xy"),
            ("\u{1b}(Bx\u{1b}=y\u{1b}7z", "xyz"),
            ("\u{1b}[3\u{1b}[0mx", "x"),
            ("\u{1b}]0;\u{1b}[0mx", "x"),
            ("a\u{7}b\u{8}c\u{0}d\u{7f}e", "abcde"),
            ("\u{1b}[31\u{18}x", "x"),
            ("grün ⠋ \u{1b}[1mfett\u{1b}[m", "grün ⠋ fett"),
            ("\u{1b}ü", "ü"),
        ] {
            assert_eq!(String::from_utf8(cleaned(written.as_bytes())).unwrap(), left, "{written:?}");
        }
    }

    #[test]
    fn a_sequence_without_an_end_does_not_swallow_the_next_line() {
        for open in ["\u{1b}", "\u{1b}[31", "\u{1b}]0;title", "\u{1b}P", "\u{1b}(", "\u{1b}]0;x\u{1b}"] {
            assert_eq!(cleaned(format!("{open}\n{{\"a\":1}}\n").as_bytes()), b"\n{\"a\":1}\n", "{open:?}");
        }
    }

    /// Bytes that matter more often than chance would have them.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let telling = prop::sample::select(b"\x1b[]P_\\(\x07\n\r0;mx\x18\xc3".to_vec());
        prop::collection::vec(prop_oneof![telling, any::<u8>()], 0..80)
    }

    proptest! {
        #[test]
        fn nothing_that_moves_a_cursor_is_left(bytes in bytes()) {
            prop_assert!(cleaned(&bytes).iter().all(|byte| is_text(*byte)));
        }

        #[test]
        fn where_the_reads_were_cut_does_not_matter(bytes in bytes(), cut in 0..80usize) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let (mut clean, mut into) = (Clean::default(), Vec::new());
            clean.append(first, &mut into);
            clean.append(second, &mut into);
            prop_assert_eq!(into, cleaned(&bytes));
        }

        #[test]
        fn every_line_end_is_kept(bytes in bytes()) {
            let ends = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count();
            prop_assert_eq!(ends(&cleaned(&bytes)), ends(&bytes));
        }

        #[test]
        fn text_is_left_as_it_is(text in "[ -~äöü\n\t]{0,80}") {
            prop_assert_eq!(cleaned(text.as_bytes()), text.as_bytes());
        }
    }
}
