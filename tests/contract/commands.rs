//! The commands of the binary, as a person or a script calls them.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "commands/container.rs"]
mod container;
#[path = "commands/control_requests.rs"]
mod control_requests;
#[path = "commands/demo.rs"]
mod demo;
#[path = "commands/doctor.rs"]
mod doctor;
#[path = "commands/help.rs"]
mod help;
#[path = "commands/link.rs"]
mod link;
#[path = "commands/mock_faults.rs"]
mod mock_faults;
#[path = "commands/mock_server.rs"]
mod mock_server;
#[path = "commands/mock_turns.rs"]
mod mock_turns;
mod dependencies;
#[path = "commands/server.rs"]
mod server;
mod structure;
#[path = "commands/trust.rs"]
mod trust;

use common::{binary, finish};
use serde_json::json;
use testkit::{Outcome, Run, World};

fn plain() -> World {
    common::world(json!([]))
}

/// The binary under its own name.
fn ralph(world: &World, words: &[&str]) -> Run {
    world.run(&binary()).named("ralph").args(words.iter().copied())
}

fn run(world: &World, words: &[&str]) -> Outcome {
    finish(ralph(world, words))
}

#[test]
fn help_lists_the_commands_and_the_exit_codes() {
    let world = plain();
    let help = run(&world, &["help"]);
    assert_eq!((help.code, &*help.stderr), (Some(0), ""));
    let text = help.lines.join("\n");
    for expected in ["agent", "demo", "mock SCRIPT", "link [FOLDER]", "trust", "auth status", "doctor", "version"] {
        assert!(text.contains(&format!("  ralph {expected}")), "{expected}: {text}");
    }
    for code in ["  0  ", "  1  ", "130  ", "143  "] {
        assert!(help.lines.iter().any(|line| line.starts_with(code)), "{code}: {text}");
    }
    for words in [&["-h"][..], &["--help"]] {
        assert_eq!(run(&world, words).lines, help.lines, "{words:?}");
    }
}

#[test]
fn the_version_is_our_own() {
    let world = plain();
    for word in ["version", "-v", "-V", "--version"] {
        let outcome = run(&world, &[word]);
        assert_eq!(
            (outcome.lines, outcome.code),
            (vec![format!("ralph {}", env!("CARGO_PKG_VERSION"))], Some(0)),
            "{word}"
        );
    }
}

#[test]
fn an_unknown_command_is_one_line_with_a_hint() {
    let world = plain();
    for (word, line) in [
        ("lnk", "error: unknown command 'lnk'. Did you mean 'link'? 'ralph help' lists the commands."),
        ("dmeo", "error: unknown command 'dmeo'. Did you mean 'demo'? 'ralph help' lists the commands."),
        ("doctr", "error: unknown command 'doctr'. Did you mean 'doctor'? 'ralph help' lists the commands."),
        ("zzzzzz", "error: unknown command 'zzzzzz'. 'ralph help' lists the commands."),
        ("--nope", "error: unknown option '--nope'. See 'ralph 1 --help'."),
    ] {
        let outcome = run(&world, &[word]);
        assert_eq!((&*outcome.stderr, outcome.lines.len(), outcome.code), (line, 0, Some(1)), "{word}");
    }
    // The same for the agent, where a single word could be a prompt.
    let outcome = finish(common::claude(&world).args(["docter"]));
    assert_eq!(
        (&*outcome.stderr, outcome.code),
        ("error: unknown command 'docter' (did you mean 'doctor'?). A prompt goes after -p.", Some(1))
    );
    assert!(world.mock().requests().is_empty());
}

#[test]
fn commands_of_the_reference_that_we_lack_say_so() {
    let world = plain();
    for words in [&["update"][..], &["install", "stable"]] {
        let outcome = finish(common::claude(&world).args(words.iter().copied()));
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}");
        assert!(outcome.stderr.contains("is not part of this agent"), "{words:?}: {}", outcome.stderr);
    }
    assert!(world.mock().requests().is_empty());
}

#[test]
fn a_link_named_claude_is_the_agent_and_any_other_name_is_not() {
    let world = plain();
    for (name, version) in [("claude", "2.1.325 (Claude Code)"), ("ralph", "ralph 0.1.0"), ("other", "ralph 0.1.0")] {
        let link = world.home().join(name);
        std::os::unix::fs::symlink(binary(), &link).unwrap();
        let named = |run: Run| finish(run.named(&link.display().to_string()));
        assert_eq!(named(world.run(&link).args(["--version"])).lines, [version], "{name}");
    }
    let link = world.home().join("claude");
    let answered = finish(world.run(&link).named("claude").args(["-p", "hi"]));
    assert_eq!((answered.lines, answered.code), (vec!["script exhausted".to_owned()], Some(0)), "{}", answered.stderr);
}
