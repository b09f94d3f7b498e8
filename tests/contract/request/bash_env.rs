//! The environment of commands.

use super::with;
use crate::common::{bash, say, tool_results, world};
use serde_json::json;

const BASH: [&str; 2] = ["--allowedTools", "Bash"];

/// What commands print in one session.
fn printed(env: &[(&str, &str)], commands: &[&str]) -> Vec<String> {
    let turns: Vec<_> = commands.iter().map(|command| bash(command)).chain([say("done")]).collect();
    let world = world(json!(turns));
    let seen = with(&world, env, &BASH);
    assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
    tool_results(&seen.outcome)
}

#[test]
fn git_needs_no_editor() {
    let commit = "git -c user.name=a -c user.email=a@b";
    let printed = printed(
        &[("EDITOR", "/nowhere/vi"), ("TERM", "dumb")],
        &[&format!("{commit} commit --amend --allow-empty && echo amended"), "git log --format=%s"],
    );
    assert!(printed[0].contains("amended"), "{printed:?}");
    assert_eq!(printed[1], "start");
}

#[test]
fn scripts_find_the_marks_they_look_for_and_no_telemetry() {
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a=b"),
        ("GIT_EDITOR", "vi"),
        ("SHELL", "/bin/false"),
        ("OTHER", "stays"),
    ];
    let printed = printed(&env, &["env"]);
    let lines: Vec<&str> = printed[0].lines().collect();
    for expected in [
        "GIT_EDITOR=true",
        "COREPACK_ENABLE_AUTO_PIN=0",
        "NoDefaultCurrentDirectoryInExePath=1",
        "CLAUDE_CODE_SESSION_ATTENDED=0",
        "CLAUDECODE=1",
        "OTHER=stays",
    ] {
        assert!(lines.contains(&expected), "{expected}: {lines:#?}");
    }
    let begins = |start: &str| lines.iter().find_map(|line| line.strip_prefix(start));
    assert!(begins("AI_AGENT=").is_some_and(|name| name.ends_with("_agent")), "{lines:#?}");
    assert!(begins("SHELL=").is_some_and(|shell| shell.ends_with("sh") && !shell.contains("false")), "{lines:#?}");
    assert!(begins("CLAUDE_CODE_EXECPATH=").is_some_and(|path| std::path::Path::new(path).is_file()), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("OTEL_")), "{lines:#?}");
}

#[test]
fn output_that_is_too_long_is_kept_in_a_file_that_is_named() {
    for command in ["seq 1 5000", "seq 1 5000; exit 3"] {
        let printed = printed(&[("BASH_MAX_OUTPUT_LENGTH", "1000")], &[command]);
        let path = printed[0].split(" in /").nth(1).and_then(|rest| rest.split(';').next());
        let path = format!("/{}", path.unwrap_or_else(|| panic!("{command}: {}", printed[0])));
        let whole = std::fs::read_to_string(&path).unwrap_or_default();
        // The world is gone with its folders; that the name is told is what can be seen here.
        assert!(
            printed[0].len() < 3000 && (whole.is_empty() || whole.contains("\n4999\n")),
            "{command}: {}",
            printed[0]
        );
    }
}

#[test]
fn a_long_failure_is_kept_in_a_file_as_well() {
    let printed = printed(&[], &["seq 1 4000; exit 3"]);
    assert!(printed[0].contains("[The output has") && printed[0].contains(" in /"), "{}", printed[0]);
}
