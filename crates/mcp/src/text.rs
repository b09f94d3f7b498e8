//! Cutting and measuring text. Pure.

/// Said in place of what was cut.
const CUT: &str = "…";

/// Words of a server as people and models may see them: nothing in them hides.
pub(crate) fn shown(text: &str, max: usize) -> String {
    cut(&wire::visible(text), max)
}

/// At most `max` bytes of the text, never within a character, with a mark where something is missing.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(max.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..kept])
}

/// About how many tokens a text is: four plain characters to one, every other character one.
pub(crate) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    plain.div_ceil(4) + other
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_about_right() {
        for (text, expected) in [("", 0), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("a日", 2)] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_fits_and_begins_alike(text in ".{0,40}", max in 3_usize..30) {
            let short = cut(&text, max);
            prop_assert!(short.len() <= max || short == text);
            prop_assert!(text.starts_with(short.trim_end_matches(CUT)));
        }
    }
}
