//! Text from agents is of any length; what is kept of it is not.

/// The text, or its first `max` bytes with a mark that some is missing. Cuts between characters.
pub fn bounded(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{} …", text[..text.floor_char_boundary(max)].trim_end())
}

/// The end of a text, where what matters is last: compilers and test runners.
pub(crate) fn ending(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("… {}", text[text.ceil_char_boundary(text.len() - max)..].trim_start())
}

/// The same for texts that differ only in what changes from run to run: numbers, case, spacing.
pub(crate) fn fingerprint(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    for word in text.split_whitespace() {
        let plain: String =
            word.chars().filter(|letter| !letter.is_ascii_digit()).flat_map(char::to_lowercase).collect();
        plain.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 3), "ä …");
        assert_eq!(ending("äöü", 3), "… ü");
    }

    #[test]
    fn numbers_and_spacing_make_no_difference_but_words_do() {
        assert_eq!(fingerprint("FAILED 3 tests in 0.12s"), fingerprint("failed 17 tests\n in 9.99s"));
        assert_ne!(fingerprint("failed: parser"), fingerprint("failed: lexer"));
    }
}
