//! How words are put together: prompts anywhere, lists, empty values, `--`, and the requirements A1 to A8 that
//! real loops have.

use super::{STREAM, Seen, ask, claude, finish, plain};
use crate::common::{bash, binary, say, world};
use serde_json::json;
use std::time::Duration;
use testkit::World;

/// The prompt that reached the model, preamble taken off.
fn prompt(seen: &Seen) -> String {
    seen.messages().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_prompt_may_stand_anywhere_and_print_may_be_said_twice() {
    let world = plain();
    for words in [
        &["-p", "do it"][..],
        &["--print", "do it"],
        &["do it", "-p"],
        &["--print", "-p", "do it"],
        &["-p", "do it", "-p"],
        &["-p", "--", "do it"],
        &["--print", "--", "do it"],
        &["-p", "do it", "--model", "haiku"],
        &["--model", "haiku", "-p", "do it"],
        &["-p", "--model", "haiku", "do it"],
        &["-p", "", "do it"],
        &["-p", "do it", ""],
        &["-p", "do", "it"],
        &["--disallowedTools=TodoWrite,TaskCreate", "--print", "-p", "do it"],
        &["--allowedTools", "Read", "Grep", "-p", "do it"],
        &["--allowedTools", "Read", "--", "do it"],
        &["--tools", "", "-p", "do it"],
        // Without -p: neither end is a terminal.
        &["do it"],
    ] {
        let seen = ask(&world, words.iter().copied());
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert_eq!(prompt(&seen), "do it", "{words:?}");
    }
}

#[test]
fn after_two_dashes_nothing_is_an_option() {
    let world = plain();
    for (words, expected) in [
        (&["-p", "--", "--model", "x"][..], "--model x"),
        (&["-p", "--", "-v"], "-v"),
        (&["-p", "--", "--- a heading"], "--- a heading"),
        (&["-p", "--", "auth", "status"], "auth status"),
        (&["-p", "--verbose", "--", "doctor"], "doctor"),
    ] {
        let seen = ask(&world, words.iter().copied());
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert_eq!(prompt(&seen), expected, "{words:?}");
    }
}

#[test]
fn a_prompt_that_reads_like_a_command_is_a_prompt_with_print() {
    let world = plain();
    for words in [&["-p", "auth status"][..], &["-p", "auth", "status"], &["-p", "doctor"], &["--print", "update"]] {
        let seen = ask(&world, words.iter().copied());
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert_eq!(prompt(&seen), words[1..].join(" "), "{words:?}");
    }
}

#[test]
fn stdin_is_the_prompt_or_follows_it() {
    let world = plain();
    for (words, piped, expected) in [
        (&["-p"][..], "from stdin", "from stdin"),
        (&["--print"], "from stdin\n", "from stdin"),
        (&[], "from stdin", "from stdin"),
        (&["-p", "-"], "from stdin", "from stdin"),
        (&["-p", "argument"], "from stdin", "argument\nfrom stdin"),
    ] {
        let run = claude(&world).args(words.iter().copied());
        let run = run.step(testkit::Step::SendRaw(piped.as_bytes().to_vec())).close();
        let seen = Seen::of(&world, run);
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert!(seen.messages().trim_end().ends_with(expected), "{words:?}: {}", seen.messages());
    }
}

#[test]
fn a1_without_print_the_formats_make_it_headless() {
    let world = world(json!([say("first"), say("second"), say("third")]));
    let sdk = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let seen = Seen::of(&world, claude(&world).args(sdk).prompt("hi").close());
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(seen.outcome.result().unwrap()["result"], "first");
    let inline =
        ["--output-format=stream-json", "--verbose", "--input-format=stream-json", "--permission-prompts=none"];
    let seen = Seen::of(&world, claude(&world).args(inline).prompt("hi").close());
    assert_eq!(seen.outcome.result().unwrap()["result"], "second", "{}", seen.told());
    let seen = ask(&world, ["hi", "--output-format", "stream-json"]);
    assert_eq!(seen.outcome.result().unwrap()["result"], "third", "{}", seen.told());
}

#[test]
fn a2_print_and_a_prompt_in_one_command_line() {
    let world = plain();
    let args = "--dangerously-skip-permissions --verbose --output-format stream-json --setting-sources project,local \
                --print --disallowedTools=TodoWrite,TaskCreate,TaskUpdate,TaskList,TaskGet -p";
    let seen = ask(&world, args.split_whitespace().chain(["Please read and execute the task in /tmp/t"]));
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(seen.init()["permissionMode"], "bypassPermissions");
    assert_eq!(prompt(&seen), "Please read and execute the task in /tmp/t");
}

#[test]
fn a3_lists_take_words_commas_and_an_equals_sign() {
    let turns = [bash("git add a.txt"), bash("touch x"), say("done")];
    for words in [
        &["--allowedTools", "Write", "Read", "Bash(git add *)", "--verbose"][..],
        &["--allowedTools", "Write,Bash(git add *),Read", "--verbose"],
        &["--allowedTools", "Write Bash(git add *) Read", "--verbose"],
        &["--allowedTools=Write,Bash(git add *)", "--verbose"],
        &["--allowed-tools", "Bash(git add:*)", "--allowed-tools=Read"],
    ] {
        let world = World::new([("a.txt", "a")], mock::Script::from_value(json!(turns)).unwrap()).unwrap();
        let seen = super::stream(&world, words);
        let denied = seen.outcome.result().unwrap()["permission_denials"].clone();
        let denied: Vec<&str> =
            denied.as_array().unwrap().iter().filter_map(|d| d["tool_input"]["command"].as_str()).collect();
        assert_eq!(denied, ["touch x"], "{words:?}: {}", seen.told());
    }
}

#[test]
fn a4_resume_without_a_value_takes_the_session_id() {
    let world = plain();
    let first = super::stream(&world, &[]);
    let id = first.outcome.session_id().unwrap();
    for words in [
        &["--resume", "--session-id", &id][..],
        &["--resume", &id],
        &["--resume", &id, "--session-id", &id],
        &["-r", &id],
        &[&format!("--resume={id}")],
    ] {
        let seen = super::stream(&world, words);
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert_eq!(seen.outcome.session_id().as_deref(), Some(&*id), "{words:?}");
        assert!(seen.messages().matches("hi").count() > 1, "{words:?} began anew: {}", seen.messages());
    }
    let forked = super::stream(&world, &["--resume", &id, "--fork-session"]);
    assert_ne!(forked.outcome.session_id().as_deref(), Some(&*id));
    assert!(forked.messages().matches("hi").count() > 1);
    let own = "11111111-2222-4333-8444-555555555555";
    let named = super::stream(&world, &["--resume", &id, "--fork-session", "--session-id", own]);
    assert_eq!(named.outcome.session_id().as_deref(), Some(own), "{}", named.told());
}

#[test]
fn a5_several_positionals_are_one_prompt_with_its_mentions() {
    let files = [(".ralph/prompt.md", "the plan\n"), (".ralph/todo.md", "the list\n")];
    let world = World::new(files, mock::Script::default()).unwrap();
    let seen = ask(&world, ["-p", "@.ralph/prompt.md", "@.ralph/todo.md"]);
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(seen.requests.len(), 1);
    for text in ["@.ralph/prompt.md @.ralph/todo.md", "the plan", "the list"] {
        assert!(seen.messages().contains(text), "{text}: {}", seen.messages());
    }
}

#[test]
fn a6_a_stray_empty_positional_is_nothing() {
    let world = plain();
    let args =
        ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--replay-user-messages", ""];
    let seen = Seen::of(&world, claude(&world).args(args).prompt("hi").close());
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(seen.outcome.events().iter().filter(|event| event["type"] == "result").count(), 1);
    assert!(seen.outcome.events().iter().any(|event| event["isReplay"] == true));
}

/// A debug build on a busy machine; the released binary is held to 5 ms by the benchmarks.
const VERSION_LIMIT: Duration = Duration::from_millis(50);
const VERSION_TRIES: usize = 20;

#[test]
fn a7_the_version_is_the_contracts_and_comes_at_once() {
    let world = plain();
    for words in [&["-v"][..], &["--version"], &["--verbose", "-v"], &["-p", "hi", "--version"]] {
        let outcome = finish(claude(&world).args(words.iter().copied()).without_env("HOME"));
        assert_eq!(
            (outcome.lines, &*outcome.stderr, outcome.code),
            (vec!["2.1.325 (Claude Code)".into()], "", Some(0))
        );
    }
    let fastest = (0..VERSION_TRIES).map(|_| finish(claude(&world).args(["-v"])).elapsed).min().unwrap();
    assert!(fastest < VERSION_LIMIT, "{fastest:?}");
    assert!(world.mock().requests().is_empty());
    assert!(world.home().read_dir().unwrap().next().is_none(), "it wrote something");
}

#[test]
fn a8_flags_that_clients_send_are_known() {
    let world = plain();
    let first = super::stream(&world, &[]);
    let last = first.outcome.events().into_iter().rfind(|event| event["type"] == "assistant").unwrap();
    let (id, entry) = (first.outcome.session_id().unwrap(), last["uuid"].as_str().unwrap().to_owned());
    let at = format!("--resume-session-at={entry}");
    for words in [&["--resume", &id, "--resume-session-at", &entry][..], &["--resume", &id, &at, "--fork-session"]] {
        let seen = super::stream(&world, words);
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        assert!(seen.messages().contains("script exhausted"), "{words:?}: {}", seen.messages());
    }
    let args = "--setting-sources project,local --tools Read --effort high --agent general-purpose --add-dir /usr \
                --allow-dangerously-skip-permissions --model default --append-system-prompt x";
    let seen = super::stream(&world, &args.split_whitespace().collect::<Vec<_>>());
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(seen.init()["permissionMode"], "default");
}

#[test]
fn help_names_every_option_and_the_exit_codes() {
    let world = plain();
    for word in ["--help", "-h", "help"] {
        let outcome = finish(claude(&world).args([word]));
        let text = outcome.lines.join("\n");
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{word}");
        for expected in ["--model", "--output-format", "--allowedTools", "--json-schema", "Exit codes:", "130"] {
            assert!(text.contains(expected), "{word} lacks {expected}");
        }
    }
    let agent = finish(world.run(&binary()).named("ralph").args(["agent", "--help"]));
    assert_eq!(agent.lines, finish(claude(&world).args(["--help"])).lines);
    assert!(world.mock().requests().is_empty());
}

#[test]
fn both_names_of_the_agent_are_the_same_agent() {
    let world = plain();
    let through = finish(world.run(&binary()).named("ralph").args(["agent"].into_iter().chain(STREAM)));
    assert_eq!(through.code, Some(0), "{}", through.stderr);
    assert_eq!(through.result().unwrap()["subtype"], "success");
    let linked = finish(claude(&world).named("/some/where/claude").args(STREAM));
    assert_eq!(linked.result().unwrap()["subtype"], "success");
}
