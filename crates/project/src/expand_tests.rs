use proptest::prelude::*;

use super::*;

fn shown(segments: &[Segment]) -> String {
    let piece = |segment: &Segment| match segment {
        Segment::Text(text) => text.clone(),
        Segment::Shell { command } => format!("«{command}»"),
    };
    segments.iter().map(piece).collect()
}

#[test]
fn placeholders_are_filled() {
    let names = ["who".to_owned(), "how".to_owned()];
    let variables = [("CLAUDE_SKILL_DIR", "/s"), ("CLAUDE_SESSION_ID", "id")];
    for (body, args, expected) in [
        ("Fix $ARGUMENTS now.", "42 b", "Fix 42 b now."),
        ("$0 and $1", "a b", "a and b"),
        ("$ARGUMENTS[1]-$ARGUMENTS[0]", "a 'b c'", "b c-a"),
        ("$0 $7 $ARGUMENTS[7]", "a", "a $7 $ARGUMENTS[7]"),
        ("costs $500", "", "costs $500"),
        ("$who|$how|$whom", "a", "a||$whom"),
        ("\\$ARGUMENTS \\$0 $0", "a", "$ARGUMENTS $0 a"),
        ("${CLAUDE_SKILL_DIR}/x ${CLAUDE_SESSION_ID} ${OTHER} ${", "", "/s/x id ${OTHER} ${"),
        ("no place\n", "a b", "no place\n\nARGUMENTS: a b"),
        ("no place\n", " ", "no place\n"),
        ("$ARGUMENTS", "", ""),
        ("é$0é", "ü", "éüé"),
        ("end $", "", "end $"),
        ("$ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR} \\$1", "$0 ${CLAUDE_SKILL_DIR} \\$1"),
    ] {
        assert_eq!(shown(&expand(body, args, &names, &variables)), expected, "{body:?} with {args:?}");
    }
}

#[test]
fn shell_lines_come_back_as_segments() {
    for (body, expected) in [
        ("!`echo ran`", "«echo ran»"),
        ("a !`b` c", "a «b» c"),
        ("a!`b`", "a!`b`"),
        ("!`` x", "!`` x"),
        ("!`open\n`", "!`open\n`"),
        ("x\n```!\nls\npwd\n```\ny", "x\n«ls\npwd»\ny"),
        ("```!\nnever closed", "```!\nnever closed"),
        ("```\n!`in code runs too`\n```", "```\n«in code runs too»\n```"),
        ("!`git log $0`", "«git log main»"),
    ] {
        let args = if body.contains("$0") { "main" } else { "" };
        assert_eq!(shown(&expand(body, args, &[], &[])), expected, "{body:?}");
    }
}

#[test]
fn an_argument_never_becomes_a_command() {
    let segments = expand("Do $ARGUMENTS", "!`rm -rf /`", &[], &[]);
    assert_eq!(segments, [Segment::Text("Do !`rm -rf /`".into())]);
    let segments = expand("Do it", "\n!`rm -rf /`\n```!\nid\n```", &[], &[]);
    assert!(segments.iter().all(|segment| matches!(segment, Segment::Text(_))));
}

#[test]
fn arguments_split_like_a_shell() {
    for (args, expected) in [
        ("a b", vec!["a", "b"]),
        ("  a   'b c' \"d \\\" e\" f\\ g ''", vec!["a", "b c", "d \" e", "f g", ""]),
        ("it's fine", vec!["it's", "fine"]),
        ("", vec![]),
        ("pre'fix'ed", vec!["prefixed"]),
    ] {
        assert_eq!(split_arguments(args), expected, "{args:?}");
    }
}

proptest! {
    #[test]
    fn commands_come_from_the_template_alone(body in "[a$0`! \n{}\\\\]{0,60}", args in "[a`!$ \n'\"]{0,30}") {
        let count = |segments: Vec<Segment>| segments.iter().filter(|s| matches!(s, Segment::Shell { .. })).count();
        prop_assert_eq!(count(expand(&body, &args, &[], &[])), count(expand(&body, "", &[], &[])));
    }
}
