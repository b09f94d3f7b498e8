//! Bounds for text from agents, which can have any length.

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

/// Words that a line has which says what failed, in lower case, the surest first.
const FAILING: [&str; 11] = [
    "error:",
    "error[",
    "panicked at",
    "assertion",
    "... failed",
    "failed:",
    "traceback",
    "exception",
    "fatal:",
    "not found",
    "no rule",
];

/// The line of an output that says what failed: the first that names an error, else the last with words in it.
pub fn failing_line(output: &str) -> &str {
    let is_code = |line: &&str| line.trim().to_lowercase().starts_with("exit code");
    let lines = || output.lines().filter(|line| !line.trim().is_empty()).filter(|line| !is_code(line));
    let named = FAILING.iter().find_map(|words| lines().find(|line| line.to_lowercase().contains(words)));
    named.or_else(|| lines().next_back()).or_else(|| output.lines().next()).unwrap_or(output)
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
    fn the_line_that_says_what_failed_is_found() {
        for (output, line) in [
            (
                "Exit code 101\n   Compiling x\nerror[E0308]: mismatched types\n  --> src/lib.rs",
                "error[E0308]: mismatched types",
            ),
            (
                "running 2 tests\nthread 'a' panicked at src/lib.rs:3\nnote: run with",
                "thread 'a' panicked at src/lib.rs:3",
            ),
            ("Exit code 1\nls: cannot access 'x'", "ls: cannot access 'x'"),
            ("one\ntwo\n\n", "two"),
            ("Exit code 1", "Exit code 1"),
            ("", ""),
        ] {
            assert_eq!(failing_line(output), line);
        }
    }

    #[test]
    fn numbers_and_spacing_make_no_difference_but_words_do() {
        assert_eq!(fingerprint("FAILED 3 tests in 0.12s"), fingerprint("failed 17 tests\n in 9.99s"));
        assert_ne!(fingerprint("failed: parser"), fingerprint("failed: lexer"));
    }
}
