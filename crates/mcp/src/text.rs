//! Showing and measuring text. Pure.

use tools::bounded::cut;

/// Words of a server as people and models may see them: nothing in them hides.
pub(crate) fn shown(text: &str, max: usize) -> String {
    cut(&wire::visible(text), max)
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

    #[test]
    fn tokens_are_about_right() {
        for (text, expected) in [("", 0), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("a日", 2)] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }
}
