//! Much input, much output, files without end: nothing is lost that was promised, and memory stays flat.

use crate::common::{bash, call, claude, finish, say, tool_results, world};
use crate::{LINE_MAX, PATIENCE, streaming};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Outcome, Step};

/// What the agent itself may take for a conversation with a few large things in it, in KiB. A debug build alone
/// takes half of it.
const PEAK_MAX_KB: u64 = 96 * 1024;

const RESIDENT: &str = "grep VmRSS /proc/$CLAUDE_PID/status";
const PEAK: &str = "grep VmHWM /proc/$CLAUDE_PID/status";

/// The kilobytes in a line of `/proc/<pid>/status`.
fn kilobytes(line: &str) -> u64 {
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number: {line}"))
}

fn assert_lines_fit(outcome: &Outcome) {
    for line in &outcome.lines {
        assert!(line.len() < LINE_MAX, "a line of {} bytes: {}…", line.len(), &line[..200]);
        assert!(serde_json::from_str::<Value>(line).is_ok());
    }
}

/// An answer in deltas of a thousand characters, as an API sends it.
fn long_answer(text: &str) -> Value {
    let event = |kind: &str, body: Value| format!("event: {kind}\ndata: {body}\n\n");
    let mut sse = event(
        "message_start",
        json!({"type": "message_start", "message": {"id": "msg_long", "type": "message",
        "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1}}}),
    );
    sse += &event(
        "content_block_start",
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for piece in text.as_bytes().chunks(1000) {
        let piece = String::from_utf8_lossy(piece);
        sse += &event(
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
        );
    }
    sse += &event("content_block_stop", json!({"type": "content_block_stop", "index": 0}));
    sse += &event(
        "message_delta",
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 500_000}}),
    );
    sse += &event("message_stop", json!({"type": "message_stop"}));
    json!({"raw_sse": sse})
}

#[test]
fn two_hundred_turns_of_tool_use_leave_memory_flat() {
    let mut turns = vec![bash(RESIDENT); 200];
    turns.push(say("done"));
    let world = world(Value::from(turns));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.result().unwrap()["num_turns"], 201);
    let resident: Vec<u64> = tool_results(&outcome).iter().map(|line| kilobytes(line)).collect();
    let (early, late) = (resident[20], resident[199]);
    assert!(late < early + 4 * 1024, "from {early} to {late} KiB in 180 turns: {resident:?}");
    assert!(late < PEAK_MAX_KB, "{late} KiB");
}

#[test]
fn a_two_megabyte_answer_arrives_whole_in_text() {
    let text = "All work and no play makes a long answer. ".repeat(50_000);
    let world = world(json!([long_answer(&text)]));
    let outcome = finish(claude(&world).args(["-p", "go"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.lines.join("\n").trim_end().len(), text.trim_end().len());
}

#[test]
fn a_two_megabyte_answer_streams_in_lines_that_clients_can_take() {
    let text = "All work and no play makes a long answer. ".repeat(50_000);
    let world = world(json!([long_answer(&text)]));
    let run = streaming(&world, "go").args(["--include-partial-messages"]);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
    let streamed: usize =
        outcome.events().iter().filter_map(|event| event["event"]["delta"]["text"].as_str().map(str::len)).sum();
    assert_eq!(streamed, text.len(), "the partial messages hold all of it");
}

#[test]
fn a_megabyte_of_prompt_reaches_the_model() {
    let prompt = format!("BEGIN {} END", "lorem ipsum ".repeat(90_000));
    let line = json!({"type": "user", "message": {"role": "user", "content": prompt}});
    let text = world(json!([say("read it")]));
    let piped = claude(&text).args(["-p", "--output-format", "json"]).step(Step::SendRaw(prompt.clone().into_bytes()));
    let lines = world(json!([say("read it")]));
    let arguments = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    let sent = claude(&lines).args(arguments).send(line);
    for (world, run) in [(&text, piped), (&lines, sent)] {
        let outcome = finish(run.deadline(PATIENCE).close());
        assert_eq!(
            (outcome.code, &outcome.result().unwrap()["result"]),
            (Some(0), &json!("read it")),
            "{}",
            outcome.stderr
        );
        assert_lines_fit(&outcome);
        assert!(world.mock().requests()[0].body["messages"].to_string().contains(&prompt), "all of it, once");
    }
}

#[test]
fn a_ten_megabyte_line_is_a_prompt_like_any_other() {
    let world = world(json!([say("read it")]));
    let arguments = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    let run = claude(&world).args(arguments).prompt(&"x".repeat(10 * 1024 * 1024));
    let outcome = finish(run.deadline(PATIENCE).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
}

#[test]
fn more_than_ten_megabytes_of_piped_text_are_refused_and_not_cut() {
    let world = world(json!([say("never")]));
    let run = claude(&world).args(["-p", "summarise"]).step(Step::SendRaw(vec![b'x'; 10_000_001]));
    let outcome = finish(run.deadline(PATIENCE).close());
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    assert!(outcome.stderr.contains("10 MB"), "{}", outcome.stderr);
    assert!(world.mock().requests().is_empty());
}

#[test]
fn a_hundred_megabytes_of_command_output_cost_a_file_and_not_memory() {
    let world =
        world(json!([bash("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo LAST"), bash(PEAK), say("done")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
    let results = tool_results(&outcome);
    assert!(results[0].len() < 200_000, "{} bytes for the model", results[0].len());
    assert!(kilobytes(&results[1]) < PEAK_MAX_KB, "{}", results[1]);
    let event = outcome.events().into_iter().find(|event| event["tool_use_result"].is_object()).unwrap();
    let spilled = event["tool_use_result"]["persistedOutputPath"].as_str().expect("where the output is");
    let size = std::fs::metadata(spilled).unwrap().len();
    assert!((1_000_000..=100_000_010).contains(&size), "{size} bytes in {spilled}");
    assert!(results[0].contains(spilled), "the model is told where: {}", &results[0][..300]);
}

#[test]
fn output_without_an_end_is_stopped_by_the_timeout() {
    let world = world(json!([call("Bash", &json!({"command": "sleep 0.1; yes", "timeout": 500})), say("done")]));
    let outcome = finish(streaming(&world, "go").env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
}

#[test]
fn reading_what_has_no_end_is_an_error_and_not_a_hang() {
    let read = |path: &str| call("Read", &json!({"file_path": path}));
    let paths =
        ["$WD/sparse", "/dev/zero", "/dev/random", "$WD/fifo", "$WD/socket", "$WD", "/dev/stdin", "/proc/self/mem"];
    let mut turns: Vec<Value> = paths.iter().map(|path| read(path)).collect();
    turns.extend([bash(PEAK), say("done")]);
    let world = world(Value::from(turns));
    std::fs::File::create(world.wd().join("sparse")).unwrap().set_len(5 << 30).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.wd().join("socket")).unwrap();
    assert!(finish(world.run(std::path::Path::new("/usr/bin/mkfifo")).named("mkfifo").args(["fifo"])).code == Some(0));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let results = tool_results(&outcome);
    assert_eq!(results.len(), paths.len() + 1);
    let errors = outcome.events().iter().filter(|event| event["message"]["content"][0]["is_error"] == true).count();
    assert_eq!(errors, paths.len(), "{results:?}");
    for (path, result) in paths.iter().zip(&results) {
        assert!(result.len() < 1000, "{path}: {} bytes", result.len());
    }
    assert!(kilobytes(&results[paths.len()]) < PEAK_MAX_KB, "{}", results[paths.len()]);
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
}

#[test]
fn searching_among_endless_files_ends() {
    let turns = json!([
        call("Grep", &json!({"pattern": "needle", "path": "$WD"})),
        call("Glob", &json!({"pattern": "**/*"})),
        say("done")
    ]);
    let world = world(turns);
    std::fs::File::create(world.wd().join("sparse")).unwrap().set_len(5 << 30).unwrap();
    std::fs::write(world.wd().join("a.txt"), "a needle\n").unwrap();
    assert!(finish(world.run(std::path::Path::new("/usr/bin/mkfifo")).named("mkfifo").args(["fifo"])).code == Some(0));
    let outcome = finish(streaming(&world, "go"));
    assert!(tool_results(&outcome)[0].contains("a.txt"), "{:?}", tool_results(&outcome));
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
}

#[test]
fn a_file_over_a_mebibyte_is_written_whole_though_its_line_is_cut() {
    let content = "one line of a large file\n".repeat(60_000);
    let world = world(json!([
        call("Write", &json!({"file_path": "$WD/large.txt", "content": content})),
        say("written"),
        say("again")
    ]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
    assert_eq!(world.read("large.txt").as_deref(), Some(&*content));
    // What was cut for the client is whole in the transcript, so a resumed session is not cut either.
    let id = outcome.session_id().unwrap();
    let again = finish(claude(&world).args(["-p", "again", "--resume", &id]).close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let history = &world.mock().requests()[2].body["messages"][1]["content"][0]["input"]["content"];
    assert_eq!(history.as_str().map(str::len), Some(content.len()));
}

#[test]
fn output_that_grows_when_escaped_still_fits_its_line() {
    let world = world(json!([bash("head -c 400000 /dev/zero | tr '\\0' '\\001'"), say("done")]));
    let outcome = finish(streaming(&world, "go").env("BASH_MAX_OUTPUT_LENGTH", "150000"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_lines_fit(&outcome);
}
