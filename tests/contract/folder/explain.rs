//! `ralph explain`: the decision a run would come to, with the file that decides.

use super::project;
use crate::common::{binary, finish};
use serde_json::json;
use testkit::{Outcome, World};

fn explain(world: &World, words: &[&str]) -> Outcome {
    finish(world.run(&binary()).named("ralph").args(["explain"]).args(words.iter().copied()).close())
}

#[test]
fn the_deciding_rule_and_its_file_are_named() {
    let world = project(json!([]));
    let outcome = explain(&world, &["Bash(git push origin)", "Bash(git status)", "Bash(make)", "Write(a.txt)"]);
    let settings = world.wd().join(".claude/settings.json").display().to_string();
    let file = world.wd().join("a.txt").display().to_string();
    let expected = format!(
        "mode: default

Bash(git push origin)
  deny: The rule Bash(git push:*) from {settings} denies this.

Bash(git status)
  allow: Every part of this command only reads.
  The shell is given: command git -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null status --ignore-submodules=all

Bash(make)
  ask: No rule allows `make`, and default mode asks before it runs.
  Where nobody can be asked, that means no.

Write(a.txt)
  ask: default mode asks before {file} is written.
  Where nobody can be asked, that means no."
    );
    assert_eq!((outcome.lines.join("\n"), outcome.stderr.as_str(), outcome.code), (expected, "", Some(0)));
}

#[test]
fn the_agents_flags_count() {
    let world = project(json!([]));
    let cases = [
        (
            &["--permission-mode", "acceptEdits"][..],
            "Write(a.txt)",
            "  allow: acceptEdits allows edits in the workspace.",
        ),
        (
            &["--allowedTools=Bash(make *)"],
            "Bash(make all)",
            "  allow: The rule Bash(make *) from the command line allows this.",
        ),
        (
            &["--settings", r#"{"permissions":{"ask":["Bash(ls *)"]}}"#],
            "Bash(ls -l)",
            "  ask: The rule Bash(ls *) from flag settings asks before this.",
        ),
        (&["--disallowedTools=WebFetch"], "WebFetch(domain:a.b)", "  The tool is not even offered to the model."),
        (&["--dangerously-skip-permissions"], "Bash(git push)", "denies this."),
    ];
    for (flags, call, expected) in cases {
        let words: Vec<&str> = flags.iter().copied().chain(["--", call]).collect();
        let outcome = explain(&world, &words);
        assert_eq!(outcome.code, Some(0), "{call}: {}", outcome.stderr);
        assert!(outcome.lines.iter().any(|line| line.contains(expected)), "{call}: {:?}", outcome.lines);
    }
}

#[test]
fn an_untrusted_folders_grants_are_said_to_be_ignored() {
    let world = project(json!([]));
    std::fs::write(world.wd().join(".claude/settings.json"), r#"{"permissions":{"allow":["Bash(make *)"]}}"#).unwrap();
    let outcome = explain(&world, &["Bash(make all)"]);
    assert!(outcome.lines.iter().any(|line| line.contains("ask:")), "{:?}", outcome.lines);
    assert!(outcome.stderr.contains("not trusted"), "{}", outcome.stderr);
}

#[test]
fn hooks_that_may_still_speak_are_mentioned() {
    let world = project(json!([]));
    let settings = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    let outcome = explain(&world, &["--settings", settings, "Bash(ls)"]);
    assert!(outcome.lines.last().unwrap().starts_with("PreToolUse hooks are set up here"), "{:?}", outcome.lines);
}

#[test]
fn nothing_to_explain_is_an_error_with_the_usage() {
    let world = project(json!([]));
    for words in [&[][..], &["--allowedTools", "Bash(ls)"], &["(x)"], &["--nope"]] {
        let outcome = explain(&world, words);
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}: {}", outcome.stderr);
        assert!(!outcome.stderr.is_empty());
    }
}
