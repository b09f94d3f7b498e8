//! What is refused before any model call: one line on stderr, nothing on stdout, exit 1.

use super::{claude, finish, plain};
use testkit::{Outcome, World};

const UUID: &str = "11111111-2222-4333-8444-555555555555";

fn refused(world: &World, words: &[&str]) -> Outcome {
    let outcome = finish(claude(world).args(words.iter().copied()));
    assert_eq!(outcome.code, Some(1), "{words:?}: {}", outcome.stderr);
    assert_eq!(outcome.lines, [] as [&str; 0], "{words:?}");
    assert!(world.mock().requests().is_empty(), "{words:?} asked the model");
    outcome
}

#[test]
fn unknown_options_are_one_line_with_the_nearest_name() {
    let world = plain();
    for (words, line) in [
        (&["-p", "x", "--nope"][..], "error: unknown option '--nope'"),
        (&["-p", "x", "--nope=3"], "error: unknown option '--nope'"),
        (&["-p", "x", "--system-prompt-fil", "f"], {
            "error: unknown option '--system-prompt-fil' (did you mean '--system-prompt-file'?)"
        }),
        (&["-p", "x", "--modle=x"], "error: unknown option '--modle' (did you mean '--model'?)"),
        (&["-p", "x", "-Z"], "error: unknown option '-Z'"),
        (&["-p", "--- a heading"], {
            "error: unknown option '--- a heading' (a prompt that begins with '-' goes after '--')"
        }),
        (&["-p", "x", "--model"], "error: option '--model' needs a value"),
        (&["--model", "--settings=x", "-p", "x"], "error: option '--model' needs a value before '--settings=x'"),
        (&["-p", "x", "--verbose=maybe"], "error: option '--verbose' takes no value"),
    ] {
        assert_eq!(refused(&world, words).stderr, line, "{words:?}");
    }
}

#[test]
fn formats_that_do_not_go_together() {
    let world = plain();
    let replay =
        "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.";
    for (words, line) in [
        (&["-p", "hi", "--output-format", "stream-json"][..], {
            "Error: When using --print, --output-format=stream-json requires --verbose"
        }),
        (&["-p", "--input-format", "stream-json"], {
            "Error: --input-format=stream-json requires output-format=stream-json."
        }),
        (&["-p", "--input-format=stream-json", "--output-format=json"], {
            "Error: --input-format=stream-json requires output-format=stream-json."
        }),
        (&["-p", "hi", "--replay-user-messages"], replay),
        (&["-p", "hi", "--output-format=stream-json", "--verbose", "--replay-user-messages"], replay),
        (&["-p", "hi", "--include-partial-messages"], {
            "Error: --include-partial-messages requires --output-format=stream-json."
        }),
        (&["-p", "hi", "--forward-subagent-text"], {
            "Error: --forward-subagent-text requires --output-format=stream-json."
        }),
        (&["-p", "hi", "--output-format", "xml"], {
            "error: option '--output-format' is 'xml'; allowed are text, json, stream-json"
        }),
        (&["-p", "hi", "--input-format", "xml"], {
            "error: option '--input-format' is 'xml'; allowed are text, stream-json"
        }),
    ] {
        assert_eq!(refused(&world, words).stderr, line, "{words:?}");
    }
}

#[test]
fn prompts_that_are_none() {
    let world = plain();
    let none = "Error: Input must be provided either through stdin or as a prompt argument when using --print";
    let blank = "Error: Input contained only whitespace. Provide a prompt as an argument or on stdin.";
    for (words, line) in [
        (&["-p"][..], none),
        (&["-p", ""], none),
        (&[], none),
        (&["-p", " \t\n"], blank),
        (&["-p", "--allowedTools", "Read", "a prompt that the list has swallowed"], none),
    ] {
        assert_eq!(refused(&world, words).stderr, line, "{words:?}");
    }
    let piped = claude(&world).args(["-p"]).step(testkit::Step::SendRaw(b" \n ".to_vec())).close();
    let outcome = finish(piped);
    assert_eq!((&*outcome.stderr, outcome.code), (blank, Some(1)));
}

#[test]
fn values_that_cannot_be_meant() {
    let world = plain();
    for (words, line) in [
        (&["--thinking", "hard"][..], "error: option '--thinking' is 'hard'; allowed are adaptive, disabled"),
        (&["--thinking-display", "loud"], {
            "error: option '--thinking-display' is 'loud'; allowed are summarized, omitted"
        }),
        (&["--max-turns=many"], "error: option '--max-turns' is 'many'; a whole number is needed"),
        (&["--max-thinking-tokens", "x"], "error: option '--max-thinking-tokens' is 'x'; a whole number is needed"),
        (&["--task-budget", "-1"], "error: option '--task-budget' is '-1'; a whole number is needed"),
        (&["--max-budget-usd", "0"], "error: option '--max-budget-usd' is '0'; a positive number is needed"),
        (&["--max-budget-usd=NaN"], "error: option '--max-budget-usd' is 'NaN'; a positive number is needed"),
        (&["--autocompact", "soon"], {
            "error: option '--autocompact' is 'soon'; allowed are auto, a number, or a number with k"
        }),
        (&["--permission-mode", "yolo"], {
            "error: option '--permission-mode' is 'yolo'; allowed are default, manual, acceptEdits, plan, auto, dontAsk, \
             bypassPermissions"
        }),
        (&["--permission-prompts", "all"], "error: option '--permission-prompts' is 'all'; allowed are none, host"),
        (&["--setting-sources", "user,elsewhere"], {
            "Error: unknown setting source `elsewhere`: use a comma-separated list of user, project, local"
        }),
        (&["--session-id", "seven"], "Error: Invalid session ID. Must be a valid UUID."),
        (&["--agent", "nobody"], "Error: there is no agent 'nobody'. Known: general-purpose, Explore, Plan"),
        (&["--system-prompt=a", "--system-prompt-file=b"], {
            "Error: --system-prompt and --system-prompt-file cannot be used together."
        }),
        (&["--append-system-prompt=a", "--append-system-prompt-file=b"], {
            "Error: --append-system-prompt and --append-system-prompt-file cannot be used together."
        }),
        (&["--resume"], "Error: --resume needs a session id when nobody is there to choose one."),
    ] {
        assert_eq!(refused(&world, &[&["-p", "hi"], words].concat()).stderr, line, "{words:?}");
    }
    for (name, value, line) in [
        ("CLAUDE_CODE_MAX_TURNS", "many", "Error: CLAUDE_CODE_MAX_TURNS is 'many'; a whole number is needed."),
        ("CLAUDE_CODE_EXTRA_BODY", "[1]", "Error: CLAUDE_CODE_EXTRA_BODY is not a JSON object."),
    ] {
        let outcome = finish(claude(&world).args(["-p", "hi"]).env(name, value));
        assert_eq!((&*outcome.stderr, outcome.code), (line, Some(1)), "{name}");
    }
}

/// The line ends in the words of a library or of the operating system, so only its beginning is ours.
#[test]
fn values_that_cannot_be_read_are_named() {
    let world = plain();
    std::fs::write(world.wd().join("large.json"), format!("{{\"a\":\"{}\"}}", "x".repeat(2 * 1024 * 1024))).unwrap();
    for (words, start) in [
        (&["--json-schema", "{"][..], "Error: --json-schema is not a valid JSON Schema: "),
        (&["--json-schema", r#"{"type":"nonsense"}"#], "Error: --json-schema is not a valid JSON Schema: "),
        (&["--json-schema", "7"], "Error: --json-schema is not a valid JSON Schema: "),
        (&["--settings", "{\"model\":}"], "Error: --settings is not a JSON object ("),
        (&["--settings", "missing.json"], "Error: --settings $WD/missing.json: there is no such file"),
        (&["--settings", "large.json"], "Error: --settings $WD/large.json: it is over the limit of 2 MiB"),
        (&["--managed-settings", "{"], "Error: --managed-settings is not a JSON object: "),
        (&["--system-prompt-file", "missing.txt"], "Error: --system-prompt-file missing.txt cannot be read: "),
        (
            &["--append-system-prompt-file=missing.txt"],
            "Error: --append-system-prompt-file missing.txt cannot be read: ",
        ),
        (&["--agents", "{"], "Error: --agents: "),
    ] {
        let outcome = refused(&world, &[&["-p", "hi"], words].concat());
        let start = start.replace("$WD", &world.wd().display().to_string());
        assert!(outcome.stderr.starts_with(&start), "{words:?}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{words:?}: {}", outcome.stderr);
    }
}

#[test]
fn flags_of_the_interactive_and_cloud_product_are_refused_by_name() {
    let world = plain();
    for flag in ["--tmux", "--bg", "--background", "--cloud", "--remote", "--teleport", "--rc"] {
        let outcome = refused(&world, &["-p", "hi", flag]);
        assert!(outcome.stderr.contains("is not part of this agent"), "{flag}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{flag}");
    }
    assert!(refused(&world, &["-p", "hi", "--bg"]).stderr.contains("--bg and --print conflict"));
}

#[test]
fn sessions_that_cannot_be_used() {
    let world = plain();
    let line = format!("No conversation found with session ID: {UUID}");
    for words in [&["--resume", UUID][..], &["-r", UUID], &["--resume", "--session-id", UUID]] {
        assert_eq!(refused(&world, &[&["-p", "hi"], words].concat()).stderr, line, "{words:?}");
    }
    // Clients that read events get the same as a result.
    let outcome = finish(claude(&world).args(super::STREAM.into_iter().chain(["--resume", UUID])));
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["is_error"], &result["errors"][0]), (Some(1), &true.into(), &line.into()));
    assert_eq!(outcome.lines.len(), 1);

    finish(claude(&world).args(["-p", "hi", "--session-id", UUID]));
    let asked = world.mock().requests().len();
    let again = finish(claude(&world).args(["-p", "hi", "--session-id", UUID]));
    assert_eq!(again.stderr, format!("Error: Session ID {UUID} is already in use."));
    let other = "99999999-2222-4333-8444-555555555555";
    let both = finish(claude(&world).args(["-p", "hi", "--resume", UUID, "--session-id", other]));
    assert!(both.stderr.starts_with("Error: --session-id can only be used with"), "{}", both.stderr);
    let continued = finish(claude(&world).args(["-p", "hi", "--continue", "--session-id", other]));
    assert!(continued.stderr.starts_with("Error: --session-id can only be used with"), "{}", continued.stderr);
    assert_eq!(world.mock().requests().len(), asked);
}

#[test]
fn addresses_that_are_none_stop_the_start_and_are_named() {
    let world = plain();
    for (name, value, words) in [
        ("ANTHROPIC_BASE_URL", "not a url", "ANTHROPIC_BASE_URL"),
        ("ANTHROPIC_BASE_URL", "ftp://x", "ANTHROPIC_BASE_URL"),
        ("HTTPS_PROXY", "http://[bad", "HTTPS_PROXY"),
        ("http_proxy", "http://a b", "http_proxy"),
        ("ANTHROPIC_CUSTOM_HEADERS", "no colon", "ANTHROPIC_CUSTOM_HEADERS"),
        ("ANTHROPIC_CUSTOM_HEADERS", "bad name: x", "ANTHROPIC_CUSTOM_HEADERS"),
    ] {
        let outcome = finish(claude(&world).args(["-p", "hi"]).env(name, value));
        assert_eq!(outcome.code, Some(1), "{name}={value}");
        assert!(outcome.stderr.starts_with("Error: ") && outcome.stderr.contains(words), "{name}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{name}");
        assert!(world.mock().requests().is_empty());
    }
}
