//! Did the agent say that it is done? Only its final words count, only at their end, and only said,
//! not quoted: prompts, files and tool results mention the promise without making it.

/// What the final words say about being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    None,
    /// The words of the promise are there, but quoted, negated or not at the end.
    Mentioned,
    Made,
}

/// Marks around the promise that emphasise rather than quote.
const EMPHASIS: [char; 2] = ['*', '_'];
/// What ends a sentence before the promise on the same line.
const SENTENCE_ENDS: [char; 6] = ['.', '!', '?', '…', '✅', '🎉'];
/// What may follow the promise.
const AFTER: [char; 2] = ['.', '!'];

/// Whether `text`, the agent's final words, makes the promise: at the very end, on a line of its own or
/// after a whole sentence, outside of code, quotes and quotation marks.
pub fn claim(text: &str, promise: &str) -> Claim {
    let promise = promise.trim();
    if promise.is_empty() || !text.contains(promise) {
        return Claim::None;
    }
    let emphasised = |letter: char| letter.is_whitespace() || EMPHASIS.contains(&letter);
    let end = text.trim_end_matches(emphasised).trim_end_matches(AFTER).trim_end_matches(emphasised);
    // A promise may itself end in what was taken off.
    let before = [text.trim_end(), end].into_iter().find_map(|text| text.strip_suffix(promise));
    match before {
        Some(before) if stands_alone(before) && !in_code(before) => Claim::Made,
        _ => Claim::Mentioned,
    }
}

fn stands_alone(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let line = line.trim().trim_matches(EMPHASIS).trim_end();
    line.is_empty() || line.ends_with(SENTENCE_ENDS) && !line.starts_with('>')
}

/// Inside a fenced block that was opened and not closed.
fn in_code(before: &str) -> bool {
    let fences = before.lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with("```") || line.starts_with("~~~")
    });
    fences.count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROMISE: &str = "<promise>COMPLETE</promise>";

    #[test]
    fn adversary_42_only_a_promise_made_counts() {
        for (text, expected) in [
            ("<promise>COMPLETE</promise>", Claim::Made),
            ("All tasks are finished.\n\n<promise>COMPLETE</promise>\n", Claim::Made),
            ("All done. <promise>COMPLETE</promise>", Claim::Made),
            ("**<promise>COMPLETE</promise>**", Claim::Made),
            ("All done! <promise>COMPLETE</promise>.", Claim::Made),
            ("```\ncode\n```\n<promise>COMPLETE</promise>", Claim::Made),
            ("Nothing to see.", Claim::None),
            ("", Claim::None),
            ("<promise>complete</promise>", Claim::None),
            ("I will not say <promise>COMPLETE</promise>", Claim::Mentioned),
            ("I will say `<promise>COMPLETE</promise>`", Claim::Mentioned),
            ("`<promise>COMPLETE</promise>`", Claim::Mentioned),
            ("\"<promise>COMPLETE</promise>\"", Claim::Mentioned),
            ("> <promise>COMPLETE</promise>", Claim::Mentioned),
            ("> Say it when done. <promise>COMPLETE</promise>", Claim::Mentioned),
            ("```\n<promise>COMPLETE</promise>", Claim::Mentioned),
            ("```\n<promise>COMPLETE</promise>\n```", Claim::Mentioned),
            ("<promise>COMPLETE</promise> will follow once the tests pass.", Claim::Mentioned),
            ("<promise>COMPLETE</promise>\nBut two tasks are left.", Claim::Mentioned),
            ("The prompt says to print: <promise>COMPLETE</promise>", Claim::Mentioned),
        ] {
            assert_eq!(claim(text, PROMISE), expected, "{text:?}");
        }
    }

    #[test]
    fn a_promise_of_ones_own_needs_to_be_a_word() {
        for (text, expected) in [
            ("DONE", Claim::Made),
            ("It works.\nDONE", Claim::Made),
            ("It works. DONE.", Claim::Made),
            ("NOT DONE", Claim::Mentioned),
            ("ABANDONED", Claim::Mentioned),
            ("I am UNDONE", Claim::Mentioned),
            ("done", Claim::None),
        ] {
            assert_eq!(claim(text, "DONE"), expected, "{text:?}");
        }
        assert_eq!(claim("Finished!", "Finished!"), Claim::Made);
        assert_eq!(claim("anything", ""), Claim::None);
    }

    proptest! {
        #[test]
        fn words_after_the_promise_undo_it(before in ".{0,40}", after in "[a-z]{2,20}") {
            let text = format!("{before}\n{PROMISE}\n{after}");
            prop_assert_eq!(claim(&text, PROMISE), Claim::Mentioned);
        }
    }
}
