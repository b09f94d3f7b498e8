//! What a signal, a panic and an unwilling child leave behind.

use crate::common::{bash, call, claude, finish, results, say, tool_results, world};
use crate::{duplex, shell, streaming, transcript};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Outcome, World};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Clients kill after 2 s; a machine with two busy cores gets most of that.
const QUICK: Duration = Duration::from_millis(1500);

/// Ends the turn's tool only by a signal, and says on the way that it has begun.
const ENDLESS: &str = "echo begun > begun; sleep 300";

/// A model that says something and then falls silent.
fn silent_model() -> Value {
    json!([{"content": [{"type": "text", "text": "thinking about it"}, {"type": "text", "text": "more"}],
        "stall_after_events": 5}])
}

/// Waits for a file that a command of the agent writes.
fn wait_for_file(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while std::fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        assert!(Instant::now() < deadline, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a prompt whose tool call never ends, and signals the agent once `file` is there. The signal is
/// sent by a shell that waits for the file, so that the moment is an event and not a guess.
fn signalled_during_tool(world: &World, signal: &str, file: &str) -> Outcome {
    let script = format!(
        "(while [ ! -s {file} ]; do sleep 0.02; done; kill -{signal} $$) & \
         exec claude -p go --verbose --output-format stream-json --dangerously-skip-permissions"
    );
    finish(shell(world, &script).close())
}

fn only_result(outcome: &Outcome) -> Value {
    let results = results(outcome);
    assert_eq!(results.len(), 1, "{:?}", outcome.lines);
    results[0].clone()
}

/// Fails for every process of `pids` that is alive and not a zombie a second from now.
fn assert_gone(pids: &str) {
    let deadline = Instant::now() + Duration::from_secs(1);
    let alive = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    loop {
        let left: Vec<&str> = pids.split_whitespace().filter(alive).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still alive: {left:?} of {pids}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sigint_while_streaming_ends_with_one_error_result_and_130() {
    let world = world(silent_model());
    let run = streaming(&world, "go").close().wait(json!({"type": "assistant"})).signal(SIGINT);
    let outcome = finish(run);
    let result = only_result(&outcome);
    assert_eq!(outcome.code, Some(130));
    assert_eq!(result["is_error"], true);
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(outcome.events().last().unwrap()["type"], "result", "the result is the last line");
    assert!(!outcome.lingered);
}

#[test]
fn sigint_before_the_first_byte_of_an_answer_is_quick_too() {
    let world = world(json!([{"content": [{"type": "text", "text": "late"}], "delay_ms": 60_000}]));
    let run = streaming(&world, "go").close().wait(json!({"subtype": "init"})).signal(SIGINT);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(130));
    assert_eq!(only_result(&outcome)["is_error"], true);
    assert!(outcome.elapsed < QUICK, "{:?}", outcome.elapsed);
}

#[test]
fn sigint_while_a_command_runs_answers_the_call_and_ends_with_130() {
    let world = world(json!([bash(ENDLESS), say("never said")]));
    let outcome = signalled_during_tool(&world, "INT", "begun");
    let result = only_result(&outcome);
    assert_eq!(outcome.code, Some(130), "{}", outcome.stderr);
    assert_eq!(result["is_error"], true);
    assert_eq!(result["terminal_reason"], "aborted_tools");
    let answered = outcome.events().iter().any(|event| event["message"]["content"][0]["type"] == "tool_result");
    assert!(answered, "every call is answered before the result: {:?}", outcome.lines);
    assert_eq!(world.mock().requests().len(), 1, "nothing is asked after the signal");
}

#[test]
fn sigint_answers_the_calls_that_had_not_begun_too() {
    let calls: Vec<Value> = [ENDLESS, "touch second"]
        .map(|command| json!({"type": "tool_use", "name": "Bash", "input": {"command": command}}))
        .into();
    let world = world(json!([{ "content": calls }, say("resumed")]));
    let outcome = signalled_during_tool(&world, "INT", "begun");
    assert_eq!((outcome.code, tool_results(&outcome).len()), (Some(130), 2), "{:?}", outcome.lines);
    assert_eq!(world.read("second"), None, "nothing new starts after the signal");
    let id = outcome.session_id().unwrap();
    assert_eq!(finish(claude(&world).args(["-p", "go on", "--resume", &id]).close()).code, Some(0));
    assert_every_call_answered(&world.mock().requests()[1].body["messages"]);
}

#[test]
fn sigint_reaches_a_subagent_and_its_command() {
    let agent = call("Agent", &json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"}));
    let world = world(json!([agent, bash("echo $$ > pids; echo begun > begun; sleep 300"), say("never")]));
    let outcome = signalled_during_tool(&world, "INT", "begun");
    assert_eq!((outcome.code, &only_result(&outcome)["is_error"]), (Some(130), &json!(true)), "{}", outcome.stderr);
    assert_eq!(world.mock().requests().len(), 2);
    assert_gone(&world.read("pids").unwrap());
}

#[test]
fn sigint_does_not_wait_for_a_retry() {
    let world = world(json!([{"status": 529, "headers": {"retry-after": "50"}}, say("never")]));
    let run = streaming(&world, "go").close().wait(json!({"subtype": "api_retry"})).signal(SIGINT);
    let outcome = finish(run);
    assert_eq!((outcome.code, &only_result(&outcome)["is_error"]), (Some(130), &json!(true)));
    assert!(outcome.elapsed < Duration::from_secs(10), "{:?}", outcome.elapsed);
}

#[test]
fn sigint_in_plain_text_still_says_something() {
    let world = world(json!([bash(ENDLESS)]));
    let script = "(while [ ! -s begun ]; do sleep 0.02; done; kill -INT $$) & \
                  exec claude -p go --dangerously-skip-permissions";
    let outcome = finish(shell(&world, script).close());
    assert_eq!(outcome.code, Some(130));
    assert_eq!(outcome.lines, ["The turn was interrupted"]);
}

#[test]
fn sigint_between_turns_ends_the_process() {
    let world = world(json!([say("one")]));
    let outcome = finish(duplex(&world).prompt("a").wait(json!({"type": "result"})).signal(SIGINT).hold());
    assert_eq!(outcome.code, Some(130));
    assert_eq!(only_result(&outcome)["is_error"], false);
}

#[test]
fn a_second_sigint_does_not_wait_for_the_first() {
    // The child takes its time over SIGTERM; two signals in a row must not add up to a long wait.
    let world = world(json!([bash("trap '' INT TERM; echo begun > begun; sleep 300")]));
    let script = "(while [ ! -s begun ]; do sleep 0.02; done; kill -INT $$; sleep 0.05; kill -INT $$) & \
                  exec claude -p go --verbose --output-format stream-json --dangerously-skip-permissions";
    let started = Instant::now();
    let outcome = finish(shell(&world, script).close());
    assert_eq!(outcome.code, Some(130));
    assert!(results(&outcome).len() <= 1);
    assert!(started.elapsed() < QUICK * 2, "{:?}", started.elapsed());
}

#[test]
fn sigterm_is_143_quickly_without_a_result_and_the_session_goes_on() {
    let world = world(json!([bash(ENDLESS), say("resumed")]));
    let outcome = signalled_during_tool(&world, "TERM", "begun");
    assert_eq!(outcome.code, Some(143), "{}", outcome.stderr);
    assert!(results(&outcome).is_empty(), "{:?}", outcome.lines);
    let id = outcome.session_id().unwrap();
    let entries = transcript(&world, &id);
    assert!(entries.iter().any(|entry| entry["message"]["content"][0]["type"] == "tool_use"), "{entries:?}");

    let again = finish(claude(&world).args(["-p", "go on", "--resume", &id, "--output-format", "json"]).close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.result().unwrap()["result"], "resumed");
    let messages = &world.mock().requests()[1].body["messages"];
    assert_every_call_answered(messages);
}

/// The API refuses a history in which a call has no result right after it.
fn assert_every_call_answered(messages: &Value) {
    let messages = messages.as_array().unwrap();
    for (at, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        for call in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let next = messages.get(at + 1).map(|next| next["content"].to_string()).unwrap_or_default();
            assert!(next.contains(call["id"].as_str().unwrap()), "{call} has no result in {next}");
        }
    }
}

#[test]
fn sigterm_while_streaming_is_143_and_the_transcript_holds_the_finished_block() {
    let world = world(silent_model());
    let run = streaming(&world, "go").close().wait(json!({"type": "assistant"})).signal(SIGTERM);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(143));
    let id = outcome.session_id().unwrap();
    let text = Value::from(transcript(&world, &id)).to_string();
    assert!(text.contains("thinking about it"), "{text}");
}

#[test]
fn a_terminal_that_goes_away_ends_the_agent() {
    let world = world(silent_model());
    let run = streaming(&world, "go").close().wait(json!({"type": "assistant"})).signal(SIGHUP);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(143));
    assert!(results(&outcome).is_empty());
}

#[test]
fn nohup_keeps_an_agent_alive_when_the_terminal_goes() {
    // `nohup` starts us with SIGHUP ignored; it must stay ignored.
    let world = world(json!([bash("kill -HUP $CLAUDE_PID; echo sent"), say("alive")]));
    let script = "trap '' HUP; exec claude -p go --dangerously-skip-permissions";
    let outcome = finish(shell(&world, script).close());
    assert_eq!((outcome.code, outcome.lines), (Some(0), vec!["alive".to_owned()]), "{}", outcome.stderr);
}

/// Starts processes that do not want to end, each writing its id to `pids`, then does `then`.
fn stubborn(then: &str) -> String {
    format!(
        "(setsid sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; exec sleep 300' &) \n\
         (sh -c '(sh -c \"echo \\$\\$ >> pids; exec sleep 300\" &)' &) \n\
         setsid sh -c 'sh -c \"trap \\\"\\\" TERM; echo \\$\\$ >> pids; sleep 300 & sleep 300\" & wait' >/dev/null 2>&1 & \n\
         while [ $(wc -l < pids 2>/dev/null || echo 0) -lt 3 ]; do sleep 0.02; done; {then}"
    )
}

#[test]
fn nothing_the_agent_started_outlives_a_signal() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let world = world(json!([bash(&stubborn("echo begun > begun; sleep 300"))]));
        let outcome = signalled_during_tool(&world, signal, "begun");
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(!outcome.lingered, "SIG{signal}: a child still holds a pipe");
        assert_gone(&world.read("pids").unwrap());
    }
}

#[test]
fn nothing_the_agent_started_outlives_a_finished_run() {
    let world = world(json!([bash(&stubborn("echo started")), say("done")]));
    let outcome = finish(streaming(&world, "go").close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(!outcome.lingered);
    assert_gone(&world.read("pids").unwrap());
}

#[test]
fn a_command_in_the_background_is_ended_with_the_run() {
    let input =
        json!({"command": "echo $$ > pids; trap '' TERM; while :; do sleep 1; done", "run_in_background": true});
    let world = world(json!([{"content": [{"type": "tool_use", "name": "Bash", "input": input}]}, say("done")]));
    let run = streaming(&world, "go").close().wait(json!({"type": "result"}));
    let outcome = finish(run.signal(SIGTERM));
    assert_eq!(outcome.code, Some(143));
    wait_for_file(&world.wd().join("pids"));
    assert_gone(&world.read("pids").unwrap());
}

#[test]
fn a_panic_still_ends_with_one_result_and_exit_1() {
    let world = world(json!([say("never said")]));
    let outcome = finish(streaming(&world, "go").env("RALPH_FAILPOINT", "panic-in-turn").close());
    let result = only_result(&outcome);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(result["is_error"], true);
    assert_eq!(result["subtype"], "error_during_execution");
    assert!(result["errors"][0].as_str().unwrap().contains("panic-in-turn"), "{result}");
    assert!(outcome.stderr.contains("internal error"), "{}", outcome.stderr);
}

#[test]
fn a_panic_at_the_end_of_a_turn_costs_nobody_the_result() {
    for (place, turns, text) in [
        ("panic-in-result", json!([say("said")]), "said"),
        ("StopFailure", json!([{"status": 400}]), "StopFailure"),
        ("Stop", json!([say("said")]), "failpoint Stop"),
    ] {
        let world = world(turns);
        let outcome = finish(streaming(&world, "go").env("RALPH_FAILPOINT", place).close());
        let result = only_result(&outcome);
        assert!(result.to_string().contains(text), "{place}: {result}");
    }
}

#[test]
fn a_panic_in_text_and_json_is_said_on_stdout_too() {
    for format in ["text", "json"] {
        let world = world(json!([say("never said")]));
        let run = claude(&world).args(["-p", "go", "--output-format", format]);
        let outcome = finish(run.env("RALPH_FAILPOINT", "panic-in-turn").close());
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.lines.join("\n").contains("panic-in-turn"), "{format}: {:?}", outcome.lines);
    }
}
