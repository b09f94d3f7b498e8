//! Whatever stdin and stdout are, and whoever holds their other ends.

use crate::common::{bash, claude, finish, results, say, tool_results, world};
use crate::{said_to_model, shell, streaming, transcript_path};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use testkit::World;

/// Longer than a run needs, shorter than any wait for input that may never come.
const PROMPT: Duration = Duration::from_secs(3);

fn hello() -> World {
    world(json!([say("hello there")]))
}

/// The tests that need a terminal or a tracer use the system's tools, and say nothing where it has none.
fn has(program: &str) -> bool {
    Path::new("/usr/bin").join(program).exists()
}

#[test]
fn a_prompt_in_the_arguments_needs_no_stdin() {
    for redirect in ["</dev/null", "<&-"] {
        let world = hello();
        let outcome = finish(shell(&world, &format!("claude -p 'say hello' {redirect}")));
        assert_eq!((outcome.code, outcome.lines), (Some(0), vec!["hello there".to_owned()]), "{redirect}");
        assert_eq!(outcome.stderr, "", "{redirect}");
        assert!(outcome.elapsed < PROMPT, "{redirect}: {:?}", outcome.elapsed);
        assert!(said_to_model(&world, 0).contains("say hello"));
    }
}

#[test]
fn the_whole_prompt_may_come_on_stdin() {
    for script in [
        "claude -p < prompt.md",
        "cat prompt.md | claude -p",
        "claude --print < prompt.md",
        "(sleep 0.5; cat prompt.md) | claude -p",
        "cat prompt.md | claude -p -",
        "cat prompt.md | claude",
    ] {
        let world = hello();
        std::fs::write(world.wd().join("prompt.md"), "from a file\nof two lines\n").unwrap();
        let outcome = finish(shell(&world, script).close());
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{script}");
        assert!(said_to_model(&world, 0).contains(r"from a file\nof two lines"), "{script}");
    }
}

#[test]
fn piped_text_joins_the_prompt_argument() {
    let world = hello();
    let outcome = finish(shell(&world, "(sleep 0.5; echo 'the piped part') | claude -p 'the argument'").close());
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    let messages = said_to_model(&world, 0);
    assert!(messages.find("the argument").unwrap() < messages.find("the piped part").unwrap(), "{messages}");
}

#[test]
fn nothing_to_say_is_an_error_that_says_so() {
    for script in ["claude -p </dev/null", "claude -p <&-", "printf ' \\n' | claude -p"] {
        let world = hello();
        let outcome = finish(shell(&world, script).close());
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{script}");
        assert!(outcome.stderr.starts_with("Error: Input "), "{script}: {}", outcome.stderr);
        assert!(world.mock().requests().is_empty());
    }
}

#[test]
fn an_inherited_pipe_that_never_says_anything_does_not_hang_the_run() {
    let world = hello();
    let outcome = finish(claude(&world).args(["-p", "go"]).hold());
    assert_eq!((outcome.code, outcome.lines), (Some(0), vec!["hello there".to_owned()]));
    assert!(outcome.stderr.contains("stdin"), "{}", outcome.stderr);
    assert!(outcome.elapsed < Duration::from_secs(12), "{:?}", outcome.elapsed);
}

#[test]
fn a_client_that_never_closes_stdin_is_waited_for_and_not_left() {
    let world = world(json!([say("one"), say("two")]));
    let run = crate::duplex(&world).prompt("a").wait(json!({"type": "result"}));
    let run = run.step(testkit::Step::Sleep(Duration::from_millis(300))).prompt("b").wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert_eq!((outcome.code, results(&outcome).len()), (Some(0), 2));
}

#[test]
fn a_terminal_is_never_read_and_its_stream_is_plain_ascii_json() {
    if !has("script") {
        return;
    }
    let world = world(json!([say("größer → 日本")]));
    let line = "claude -p go --verbose --output-format stream-json";
    let outcome = finish(shell(&world, &format!("script -qec '{line}' /dev/null")).hold());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for line in &outcome.lines {
        let line = line.trim_end_matches('\r');
        assert!(line.is_ascii(), "a reader of 4096 bytes at a time would cut a character: {line}");
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if event["type"] == "result" {
            assert_eq!(event["result"], "größer → 日本");
        }
    }
    assert_eq!(outcome.lines.len(), 3, "{:?}", outcome.lines);
}

#[test]
fn a_reader_that_leaves_ends_the_agent_and_its_children_quietly() {
    let world = world(json!([bash("echo $$ > pid; sleep 0.2; echo more"), bash("sleep 0.1; echo more")]));
    let script = "{ claude -p go --verbose --output-format stream-json --dangerously-skip-permissions; echo $? > code; } \
                  </dev/null | head -n 1";
    let outcome = finish(shell(&world, script));
    assert_eq!(outcome.lines.len(), 1);
    assert_eq!(world.read("code").as_deref(), Some("1\n"));
    assert_eq!(outcome.stderr, "");
    assert!(!outcome.lingered);
    assert!(world.mock().requests().len() < 5, "it noticed: {}", world.mock().requests().len());
}

#[test]
fn a_slow_reader_gets_every_line_whole() {
    let text = "all of this must arrive. ".repeat(12_000);
    let world = world(json!([say(&text)]));
    let line = "claude -p go --verbose --output-format stream-json --include-partial-messages </dev/null";
    let outcome = finish(shell(&world, &format!("{line} | (sleep 1; cat)")));
    assert_eq!(outcome.events().len(), outcome.lines.len(), "no line is torn");
    let deltas: String = outcome
        .events()
        .iter()
        .filter_map(|event| event["event"]["delta"]["text"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(deltas, text, "no line is lost");
    assert_eq!(outcome.result().unwrap()["result"], text.as_str());
}

#[test]
fn a_fifo_with_stderr_merged_holds_nothing_but_events() {
    let world = world(json!([bash("echo out; echo err >&2"), say("done")]));
    let script = "mkfifo stream; claude -p go --verbose --output-format stream-json --dangerously-skip-permissions \
                  </dev/null >stream 2>&1 & cat stream; wait $!; echo $? > code";
    let outcome = finish(shell(&world, script).close());
    assert_eq!(world.read("code").as_deref(), Some("0\n"));
    assert_eq!(outcome.events().len(), outcome.lines.len(), "{:?}", outcome.lines);
    assert_eq!(results(&outcome).len(), 1);
}

#[test]
fn every_line_is_one_write() {
    if !has("strace") {
        return;
    }
    // No command runs, so that every write to stdout is the agent's: short lines and long ones.
    let world = world(json!([say(&"long answer ".repeat(5_000))]));
    let line = "claude -p go --verbose --output-format stream-json --dangerously-skip-permissions";
    // Git, which says how the repository stands, has a stdout of its own and would be in the trace.
    let strace = "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1 strace";
    let outcome = finish(shell(&world, &format!("{strace} -f -qq -s 0 -e trace=write -o trace {line}")).close());
    let trace = world.read("trace").unwrap_or_default();
    let writes: Vec<&str> = trace.lines().filter(|line| line.contains("write(1, ")).collect();
    if outcome.code != Some(0) || writes.is_empty() {
        return; // Nothing may be traced here, as in many containers.
    }
    // The length asked for: what a write of another thread interrupted in the trace has its result elsewhere. The
    // text before it is an address where the tracer may not read our memory.
    let asked = |line: &&str| line.split(", ").nth(2)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let lengths: Vec<usize> = writes.iter().filter_map(asked).collect();
    let expected: Vec<usize> = outcome.lines.iter().map(|line| line.len() + 1).collect();
    assert_eq!(lengths, expected);
}

#[test]
fn agents_nest() {
    // Turns in the order of requests: the outer one calls, the inner one answers, the outer one ends.
    let inner = "claude -p inner --output-format text </dev/null";
    let world = world(json!([bash(inner), say("from within"), say("from without")]));
    let script =
        "export CLAUDECODE=1; claude -p outer --verbose --output-format stream-json --dangerously-skip-permissions";
    let outcome = finish(shell(&world, script).close());
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(tool_results(&outcome), ["from within"]);
    assert_eq!(outcome.result().unwrap()["result"], "from without");
}

#[test]
fn commands_see_the_session_they_belong_to() {
    let command =
        "echo $CLAUDE_CODE_SESSION_ID; echo $CLAUDECODE; tr '\\0' ' ' < /proc/$CLAUDE_PID/cmdline | cut -c 1-9; pwd";
    let world = world(json!([bash(command), say("done")]));
    let outcome = finish(streaming(&world, "go").close());
    let (id, wd) = (outcome.session_id().unwrap(), world.wd().display().to_string());
    assert_eq!(tool_results(&outcome), [format!("{id}\n1\nclaude -p\n{wd}")]);
}

#[test]
fn commands_have_no_stdin_to_hang_on() {
    let world = world(json!([bash("cat; read line; echo \"read $?\""), say("done")]));
    let run = crate::duplex(&world).prompt("go").wait(json!({"type": "result"})).close();
    assert_eq!(tool_results(&finish(run)), ["read 1"]);
}

#[test]
fn the_prompt_is_never_echoed() {
    let prompt = "When you are done say <promise>COMPLETE</promise>";
    for format in ["text", "json", "stream-json"] {
        let world = world(json!([bash("true"), say("still working")]));
        let run = claude(&world).args([
            "-p",
            prompt,
            "--verbose",
            "--output-format",
            format,
            "--dangerously-skip-permissions",
        ]);
        let outcome = finish(run.close());
        assert!(!outcome.lines.join("\n").contains("<promise>"), "{format}: {:?}", outcome.lines);
        assert_eq!(outcome.code, Some(0));
    }
    let world = world(json!([say("still working")]));
    let outcome = finish(crate::duplex(&world).prompt(prompt).close());
    assert!(!outcome.lines.join("\n").contains("promise"), "{:?}", outcome.lines);
}

#[test]
fn a_promise_can_be_grepped_in_every_raw_stream_and_in_the_transcript() {
    for format in ["text", "json", "stream-json"] {
        let world = world(json!([say("All done.\n<promise>COMPLETE</promise> a/b")]));
        let run = claude(&world).args(["-p", "go", "--verbose", "--output-format", format]);
        let outcome = finish(run.close());
        let raw = outcome.lines.join("\n");
        assert!(raw.contains("<promise>COMPLETE</promise> a/b"), "{format}: {raw}");
        if format != "text" {
            let id = if format == "json" { list_session(&raw) } else { outcome.session_id().unwrap() };
            let text = std::fs::read_to_string(transcript_path(&world, &id).unwrap()).unwrap();
            assert!(text.contains("<promise>COMPLETE</promise>"), "{text}");
            assert!(text.contains(r#""role":"assistant""#), "stop hooks look for these bytes: {text}");
        }
    }
}

fn list_session(raw: &str) -> String {
    let list: Vec<Value> = serde_json::from_str(raw).unwrap();
    list[0]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn line_separators_of_javascript_do_not_split_a_line() {
    let world = world(json!([say("a\u{2028}b\u{2029}c\r\nd\u{85}e")]));
    let outcome = finish(streaming(&world, "go").close());
    assert!(!outcome.lines.join("\n").contains(['\u{2028}', '\u{2029}', '\r']));
    assert_eq!(outcome.result().unwrap()["result"], "a\u{2028}b\u{2029}c\r\nd\u{85}e");
}

#[test]
fn the_folder_it_is_started_in_is_the_project() {
    let world = world(json!([bash("pwd"), say("done")]));
    std::fs::create_dir(world.wd().join("deeper")).unwrap();
    let line = "cd deeper && claude -p go --verbose --output-format stream-json --dangerously-skip-permissions";
    let outcome = finish(shell(&world, line).close());
    let folder = world.wd().join("deeper").display().to_string();
    assert_eq!(outcome.events()[0]["cwd"], folder);
    assert_eq!(tool_results(&outcome), [folder]);
}

#[test]
fn a_rate_limit_is_seen_on_stdout_and_in_the_exit_code() {
    let limit = json!({"status": 429, "error": {"type": "error", "error": {"type": "rate_limit_error", "message": "limit of 10 per minute"}}});
    let world = world(json!([limit]));
    let outcome = finish(streaming(&world, "go").env("CLAUDE_CODE_MAX_RETRIES", "0").close());
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["is_error"], &result["api_error_status"]), (Some(1), &json!(true), &json!(429)));
    assert!(result["result"].as_str().unwrap().contains("limit of 10 per minute"), "{result}");
    assert_eq!(outcome.stderr, "", "the error is said once");
    let said = outcome.events().into_iter().find(|event| event["type"] == "assistant").unwrap();
    assert_eq!((&said["error"], &said["message"]["model"]), (&json!("rate_limit"), &json!("<synthetic>")));
}
