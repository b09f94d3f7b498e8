//! Monitor runs commands, so what rules say of Bash counts for it as well: nobody who forbade a command in one tool
//! wants it run by another. For a web socket the rules about pages count in the same way.

use policy::{Decision, Verdict};

/// A web socket: a refusal of either is one, so is somebody's wish to be asked. Who lets pages of a host be fetched has
/// not said that a connection to it may stay open, so that grants nothing.
pub fn socket(own: Decision, as_page: Decision) -> Decision {
    match own.verdict {
        Verdict::Deny => own,
        _ if as_page.verdict == Verdict::Deny || is_wish(&as_page) => as_page,
        Verdict::Ask if own.reason_type == "other" => {
            Decision { reason: "Opening a web socket is asked first.".to_owned(), ..own }
        }
        Verdict::Ask | Verdict::Allow => own,
    }
}

fn is_wish(decision: &Decision) -> bool {
    decision.verdict == Verdict::Ask && matches!(decision.reason_type, "rule" | "safety")
}

/// What both tools' rules say together. A refusal of either is one; so is somebody's wish to be asked.
pub fn together(own: Decision, as_bash: Decision) -> Decision {
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
    fn a_web_socket_needs_a_grant_of_its_own() {
        for (own, page, expected) in [
            ((Ask, "other"), (Allow, "rule"), Ask),
            ((Allow, "mode"), (Allow, "mode"), Allow),
            ((Allow, "rule"), (Ask, "other"), Allow),
            ((Allow, "rule"), (Ask, "rule"), Ask),
            ((Allow, "mode"), (Deny, "rule"), Deny),
            ((Ask, "other"), (Deny, "rule"), Deny),
            ((Deny, "rule"), (Allow, "rule"), Deny),
        ] {
            let told = socket(decision(own.0, own.1, ""), decision(page.0, page.1, ""));
            assert_eq!(told.verdict, expected, "{own:?} {page:?}");
        }
    }

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
