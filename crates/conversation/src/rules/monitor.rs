//! Monitor runs commands, so what rules say of Bash counts for it as well: nobody who forbade a command in one tool
//! wants it run by another.

use policy::{Decision, Verdict};

/// What both tools' rules say together. A refusal of either is one; so is somebody's wish to be asked.
pub fn together(own: Decision, as_bash: Decision) -> Decision {
    let is_wish =
        |decision: &Decision| decision.verdict == Verdict::Ask && matches!(decision.reason_type, "rule" | "safety");
    match (&own, &as_bash) {
        (_, bash) if bash.verdict == Verdict::Deny => as_bash,
        (other, _) if other.verdict == Verdict::Deny => own,
        (_, bash) if is_wish(bash) => as_bash,
        (other, _) if is_wish(other) || other.verdict == Verdict::Allow => own,
        _ => as_bash,
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision;
    use super::*;
    use Verdict::{Allow, Ask, Deny};

    #[test]
    fn the_stricter_word_counts_and_a_grant_of_either() {
        for (own, bash, expected) in [
            ((Allow, "rule"), (Deny, "rule"), Deny),
            ((Deny, "rule"), (Allow, "mode"), Deny),
            ((Allow, "mode"), (Ask, "rule"), Ask),
            ((Ask, "rule"), (Allow, "rule"), Ask),
            ((Ask, "other"), (Allow, "rule"), Allow),
            ((Allow, "rule"), (Ask, "other"), Allow),
            ((Ask, "other"), (Ask, "unparsable"), Ask),
            ((Allow, "mode"), (Allow, "mode"), Allow),
        ] {
            let told = together(decision(own.0, own.1, ""), decision(bash.0, bash.1, ""));
            assert_eq!(told.verdict, expected, "{own:?} {bash:?}");
        }
    }
}
