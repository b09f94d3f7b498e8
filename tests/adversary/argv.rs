//! Arguments and standard input of every shape: defined, bounded, and with the right exit code.

use crate::kit::{binary, duplex, finish, say, script, stream};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use testkit::{Outcome, Run, Step, World};

fn hello(answers: usize) -> World {
    World::empty(script(Value::Array(vec![say("hello"); answers]))).unwrap()
}

fn model_asked(world: &World) -> Value {
    world.mock().requests().first().map(|request| request.body["model"].clone()).unwrap_or_default()
}

fn last_prompt(world: &World) -> String {
    let requests = world.mock().requests();
    requests.last().map(|request| request.body["messages"].to_string()).unwrap_or_default()
}

#[test]
fn a37_a_flag_with_its_value_in_any_form_is_the_same_flag() {
    for words in [
        &["-p", "hi", "--model", "m-1"][..],
        &["-p", "hi", "--model=m-1"],
        &["--model", "m-1", "-p", "hi"],
        &["--model=m-1", "-p", "--", "hi"],
        &["-p", "--model", "m-0", "--model", "m-1", "hi"],
        &["-p", "--model=m-0", "--model=m-1", "hi"],
        &["hi", "-p", "--model", "m-1"],
    ] {
        let world = hello(1);
        let outcome = finish(world.run(&binary()).args(words.iter().copied()).close());
        assert_eq!((outcome.code, model_asked(&world)), (Some(0), json!("m-1")), "{words:?}: {}", outcome.stderr);
        assert!(last_prompt(&world).contains("hi"), "{words:?}");
    }
}

#[test]
fn a37_max_turns_with_and_without_an_equals_sign() {
    for words in [&["--max-turns", "1"][..], &["--max-turns=1"]] {
        let call = json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "echo"}}]});
        let world = World::empty(script(Value::Array(vec![call; 5]))).unwrap();
        let outcome = finish(stream(&world).args(words.iter().copied()).close());
        assert_eq!(outcome.result().unwrap()["subtype"], "error_max_turns", "{words:?}");
        assert_eq!(world.mock().requests().len(), 1, "{words:?}");
    }
}

#[test]
fn a37_the_loops_limit_with_and_without_an_equals_sign() {
    for words in [&["--max-iterations", "3"][..], &["--max-iterations=3"]] {
        let world =
            World::new([(".ralph/prompt.md", "# Go\n")], script(Value::Array(vec![say("not yet"); 20]))).unwrap();
        let state = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
        std::fs::write(world.home().join(".claude.json"), state.to_string()).unwrap();
        std::os::unix::fs::symlink(binary(), world.home().join("claude")).unwrap();
        let claude = format!("--backend={}", world.home().join("claude").display());
        let run = world.run(&binary()).named("ralph").args(["--json", &claude, "--failure-pause", "0"]);
        let outcome = finish(run.args(words.iter().copied()).close());
        let started = outcome.events().iter().filter(|event| event["type"] == "iteration_started").count();
        assert_eq!((started, outcome.code), (3, Some(2)), "{words:?}: {}\n{:?}", outcome.stderr, outcome.lines.last());
    }
}

#[test]
fn a37_a_value_that_looks_like_a_flag_is_never_silently_dropped() {
    for words in [
        &["-p", "hi", "--model", "--settings={}"][..],
        &["-p", "hi", "--max-turns", "-1"],
        &["-p", "hi", "--max-turns", "1x"],
        &["-p", "hi", "--max-turns=99999999999999999999"],
        &["-p", "hi", "--no-such-flag"],
        &["-p", "hi", "--output-format", "--verbose"],
        &["-p", "hi", "--output-format=nonsense"],
        &["-p", "hi", "--permission-mode", "everything"],
        &["-p", "hi", "--settings", "{broken"],
        &["-p", "hi", "--mcp-config", "/nowhere.json"],
        &["-p", "hi", "--session-id", "../../etc/passwd"],
        &["-p", "hi", "--resume", "../../etc/passwd"],
    ] {
        let world = hello(1);
        let outcome = finish(world.run(&binary()).args(words.iter().copied()).close());
        let refused = outcome.code == Some(1) && !outcome.stderr.is_empty() && world.mock().requests().is_empty();
        // Or the word was taken for the value it stands for.
        let taken = outcome.code == Some(0) && model_asked(&world) == json!("--settings={}");
        assert!(refused || taken, "{words:?}: {:?} {:?} {}", outcome.code, outcome.lines, outcome.stderr);
    }
}

#[test]
fn a37_after_two_dashes_everything_is_the_prompt() {
    for (words, prompt) in [
        (&["-p", "--", "--version"][..], "--version"),
        (&["-p", "--", "-x"], "-x"),
        (&["-p", "--", "--dangerously-skip-permissions"], "--dangerously-skip-permissions"),
    ] {
        let world = hello(1);
        let outcome = finish(world.run(&binary()).args(words.iter().copied()).close());
        assert_eq!(outcome.code, Some(0), "{words:?}: {}", outcome.stderr);
        assert!(last_prompt(&world).contains(prompt), "{words:?}");
    }
}

fn user(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
}

/// Feeds these bytes and closes.
fn fed(world: &World, bytes: &[u8]) -> Outcome {
    finish(duplex(world).step(Step::SendRaw(bytes.to_vec())).close())
}

fn results(outcome: &Outcome) -> Vec<Value> {
    outcome.events().into_iter().filter(|event| event["type"] == "result").collect()
}

#[test]
fn a38_lines_in_every_dress_are_prompts() {
    let one = user("hi");
    for (what, bytes) in [
        ("no newline at the end", one.clone().into_bytes()),
        ("crlf", format!("{one}\r\n").into_bytes()),
        ("a mark of byte order", format!("\u{feff}{one}\n").into_bytes()),
        ("blank lines", format!("\n\n  \n\r\n{one}\n\n").into_bytes()),
        ("space around", format!("   {one}  \n").into_bytes()),
        ("unknown types before", format!("{{\"type\":\"from_the_future\"}}\n{one}\n").into_bytes()),
        ("unknown fields", format!("{}\n", one.replacen('{', "{\"zzz\":[1,{\"a\":null}],", 1)).into_bytes()),
    ] {
        let world = hello(1);
        let outcome = fed(&world, &bytes);
        let results = results(&outcome);
        assert_eq!((results.len(), outcome.code), (1, Some(0)), "{what}: {:?} {}", outcome.lines, outcome.stderr);
        assert_eq!(results[0]["result"], "hello", "{what}");
    }
}

#[test]
fn a38_what_is_no_prompt_is_said_and_the_next_line_still_counts() {
    let one = user("hi");
    for (what, line) in [
        ("invalid utf-8", b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\xff\xfe\"}}".to_vec()),
        ("nul", b"\0\0\0".to_vec()),
        ("a list", b"[1,2,3]".to_vec()),
        ("a number", b"7".to_vec()),
        ("half an object", b"{\"type\":\"user\"".to_vec()),
        ("no message", b"{\"type\":\"user\"}".to_vec()),
        (
            "a role of somebody else",
            b"{\"type\":\"user\",\"message\":{\"role\":\"system\",\"content\":\"x\"}}".to_vec(),
        ),
        ("deep nesting", [b"[".repeat(20_000), b"]".repeat(20_000)].concat()),
    ] {
        let world = hello(2);
        let mut bytes = line.clone();
        bytes.push(b'\n');
        bytes.extend(one.as_bytes());
        bytes.push(b'\n');
        let outcome = fed(&world, &bytes);
        assert!(!outcome.timed_out && outcome.signal.is_none(), "{what}");
        assert!(matches!(outcome.code, Some(0 | 1)), "{what}: {:?}", outcome.code);
        let answered = results(&outcome).iter().filter(|result| result["result"] == "hello").count();
        let refused = outcome.code == Some(1) && !(outcome.stderr.is_empty() && results(&outcome).is_empty());
        assert!(answered >= 1 || refused, "{what}: {:?} {}", outcome.lines, outcome.stderr);
    }
}

#[test]
fn a38_pieces_of_any_size_are_put_together() {
    let world = hello(3);
    let both = format!("{}\n{}\n", user("one"), user("tw\u{f6}"));
    let outcome = fed(&world, both.as_bytes());
    assert_eq!((results(&outcome).len(), outcome.code), (2, Some(0)), "{:?}", outcome.lines);
    let world = hello(1);
    let run =
        both.lines().nth(1).unwrap().bytes().fold(duplex(&world), |run, byte| run.step(Step::SendRaw(vec![byte])));
    let outcome = finish(run.step(Step::SendRaw(b"\n".to_vec())).close());
    assert_eq!(results(&outcome)[0]["result"], "hello", "{}", outcome.stderr);
    assert!(last_prompt(&world).contains("tw\u{f6}"));
}

#[test]
fn a38_a_ten_megabyte_line_is_a_prompt() {
    let world = hello(1);
    let outcome = finish(
        duplex(&world)
            .step(Step::SendRaw(format!("{}\n", user(&"x".repeat(10 << 20))).into_bytes()))
            .deadline(Duration::from_mins(2))
            .close(),
    );
    assert_eq!(results(&outcome).len(), 1, "{}", outcome.stderr);
}

#[test]
fn a38_stdin_that_ends_at_once_never_ends_or_is_no_pipe() {
    let world = hello(1);
    let outcome = finish(duplex(&world).close());
    assert!(matches!(outcome.code, Some(0 | 1)) && world.mock().requests().is_empty(), "{:?}", outcome.code);
    let world = hello(1);
    let outcome = finish(stream(&world).hold().deadline(Duration::from_secs(20)));
    assert_eq!((results(&outcome).len(), outcome.code), (1, Some(0)), "{}", outcome.stderr);
    for redirect in ["< /dev/null", "<&-", "< /dev/zero"] {
        let world = hello(1);
        let script = format!("exec \"$RALPH\" agent -p go --output-format json {redirect}");
        let run = world.run(Path::new("/bin/sh")).named("sh").env("RALPH", &binary().to_string_lossy());
        let outcome = finish(run.args(["-c", &script]).deadline(Duration::from_secs(40)).close());
        assert!(matches!(outcome.code, Some(0 | 1)), "{redirect}: {:?} {}", outcome.code, outcome.stderr);
        assert!(redirect.contains("zero") || outcome.code == Some(0), "{redirect}: {}", outcome.stderr);
    }
}

#[test]
fn a38_a_stdout_that_is_closed_or_full_ends_the_run() {
    for script in [
        "\"$RALPH\" agent -p go --verbose --output-format stream-json >&-; echo $? >&2",
        "\"$RALPH\" agent -p go --verbose --output-format stream-json > /dev/full; echo $? >&2",
        "\"$RALPH\" agent -p go --verbose --output-format stream-json | true; echo 0 >&2",
    ] {
        let world = hello(1);
        let run = world.run(Path::new("/bin/sh")).named("sh").env("RALPH", &binary().to_string_lossy());
        let outcome = finish(run.args(["-c", script]).deadline(Duration::from_secs(20)).close());
        let code: i32 = outcome.stderr.lines().last().and_then(|line| line.trim().parse().ok()).unwrap_or(-1);
        assert!((0..=1).contains(&code) || code == 141, "{script}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("panicked"), "{script}: {}", outcome.stderr);
    }
}

#[test]
fn a39_a_reader_slower_than_the_pipe_is_large_loses_nothing() {
    let text = "0123456789abcdef".repeat(40_000);
    let world = World::empty(script(json!([say(&text)]))).unwrap();
    // The pipe is full long before the first byte is taken.
    let script = "\"$RALPH\" agent -p go --verbose --output-format stream-json --include-partial-messages | \
        { sleep 1; dd bs=777 2> /dev/null; }";
    let run: Run = world.run(Path::new("/bin/sh")).named("sh").env("RALPH", &binary().to_string_lossy());
    let outcome = finish(run.args(["-c", script]).close());
    assert_eq!(outcome.events().len(), outcome.lines.len(), "a line is torn");
    let results = results(&outcome);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["result"].as_str().map(str::len), Some(text.len()));
}
