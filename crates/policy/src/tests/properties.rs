//! What must hold for any input.

use proptest::prelude::*;
use serde_json::json;

use super::world;
use crate::PermissionMode::{AcceptEdits, BypassPermissions, Default};
use crate::{Source, Verdict, normalise, parse_rule, shell, split_list};

const RULES: [&str; 6] = [
    "allow Bash(echo:*)",
    "allow Bash(git:*)",
    "allow Bash(find:*)",
    "allow Bash(ls:*)",
    "deny Bash(curl:*)",
    "deny Bash(rm:*)",
];

/// Ways to put a command into another one, in each of which it still runs.
fn wrapped() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("curl x".to_owned()),
        Just("c\\url x".to_owned()),
        Just("'curl' x".to_owned()),
        Just("cu''rl x".to_owned()),
        Just("/usr/bin/curl x".to_owned()),
        Just("rm -rf x".to_owned()),
        Just("A=b curl x".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 1, |inner| {
        (inner, 0_usize..29).prop_map(|(command, how)| match how {
            0 => format!("echo a; {command}"),
            1 => format!("echo a && {command}"),
            2 => format!("{command} || echo a"),
            3 => format!("echo a | {command}"),
            4 => format!("({command})"),
            5 => format!("{{ {command}; }}"),
            6 => format!("echo $( {command} )"),
            7 => format!("echo \"$( {command} )\""),
            8 => format!("if true; then {command}; fi"),
            9 => format!("for i in 1; do {command}; done"),
            10 => format!("while {command}; do :; done"),
            11 => format!("case a in a) {command};; esac"),
            12 => format!("ls <({command})"),
            13 => format!("! {command}"),
            14 => format!("x=$( {command} )"),
            15 => format!("echo ${{x:-$( {command} )}}"),
            16 => format!("f() {{ {command}; }}; f"),
            17 => format!("{command} > /dev/null 2>&1 &"),
            18 => format!("echo a\n{command}\necho b"),
            19 => format!("echo $(( $( {command} ) ))"),
            20 => format!("[[ -n $( {command} ) ]] && ls"),
            21 => format!("ls # comment\n{command}"),
            22 => format!("cat <<EOF\n$( {command} )\nEOF"),
            23 => format!("cat <<'EOF'\nit's\nEOF\n{command}"),
            24 => format!("time {command}"),
            25 => format!("coproc {{ {command}; }}"),
            26 => format!("time -p {command}"),
            27 => format!("time ! {command}"),
            _ => format!("  \t{command}  "),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wrapped_denied_command_is_never_allowed(command in wrapped()) {
        for mode in [Default, AcceptEdits, BypassPermissions] {
            let decision = world(mode, &RULES).bash(&command);
            prop_assert_ne!(decision.verdict, Verdict::Allow, "{:?}: {}", mode, command);
        }
    }

    #[test]
    fn a_denied_command_between_any_texts_is_never_allowed(
        // Nothing that would make the newline after it part of a quote or of another construct.
        before in "[a-z $)}>&|;#=*~!\n-]{0,12}",
        after in "[a-z \"'$(){}<>&|;`\\\\#=*~!\n-]{0,12}",
    ) {
        let command = format!("{before}\ncurl x\n{after}");
        let world = world(Default, &RULES);
        prop_assert_ne!(world.bash(&command).verdict, Verdict::Allow, "{}", command);
    }

    #[test]
    fn any_text_gets_a_verdict(text in any::<String>(), tool in "[A-Za-z_]{0,12}") {
        let world = world(BypassPermissions, &RULES);
        world.bash(&text);
        world.call(&tool, &json!({ "command": text, "url": text, "skill": text }), &[]);
    }

    #[test]
    fn any_shell_like_text_is_analysed_without_harm(text in "[a-z0-9 \"'$(){}\\[\\]<>&|;`\\\\#=*~!?:/@^,.+\n\t-]{0,60}") {
        let _ = shell::analyse(&text);
        world(Default, &RULES).bash(&text);
    }

    #[test]
    fn any_rule_text_parses_or_fails(text in any::<String>(), inner in "[a-zA-Z(){}*:/~. ,\\[\\]!?\\\\-]{0,20}") {
        let source = Source::default();
        let _ = parse_rule(&text, &source);
        split_list(&text);
        for tool in ["Bash", "Read", "WebFetch", "Agent"] {
            if let Ok(rule) = parse_rule(&format!("{tool}({inner})"), &source) {
                let mut world = world(Default, &[]);
                world.policy.rules.deny.push(rule);
                world.bash(&inner);
                world.file("Read", &inner);
            }
        }
    }

    #[test]
    fn normalised_paths_hold_no_dots(path in "(/(\\.|\\.\\.|a|b)){0,8}") {
        let text = normalise(path.as_ref());
        prop_assert!(!text.to_string_lossy().split('/').any(|part| part == "." || part == ".."));
    }
}
