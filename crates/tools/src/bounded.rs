//! Text that is cut where it gets too long, never within a character.

/// Stands in place of what [`cut`] leaves out.
const MARK: &str = "…";

/// At most the first `most` characters.
pub fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// At most the last `most` characters.
pub fn last_chars(text: &str, most: usize) -> &str {
    match most.checked_sub(1).map(|back| text.char_indices().rev().nth(back)) {
        None => "",
        Some(None) => text,
        Some(Some((at, _))) => &text[at..],
    }
}

/// At most `max` bytes, with a mark where something is missing.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(max.saturating_sub(MARK.len()));
    format!("{}{MARK}", &text[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_are_counted_from_both_ends() {
        for (text, most, first, last) in
            [("", 2, "", ""), ("äb", 0, "", ""), ("äbc", 2, "äb", "bc"), ("äb", 2, "äb", "äb"), ("ä", 9, "ä", "ä")]
        {
            assert_eq!((first_chars(text, most), last_chars(text, most)), (first, last), "{text} {most}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_fits_and_begins_alike(text in ".{0,40}", max in 3_usize..30) {
            let short = cut(&text, max);
            prop_assert!(short.len() <= max || short == text);
            prop_assert!(text.starts_with(short.trim_end_matches(MARK)));
        }
    }
}
