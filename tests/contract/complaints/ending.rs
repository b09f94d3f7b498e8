//! Complaints 3 to 7: what comes out, and that it ends.

use crate::common::{bash, claude, finish, say, world};
use crate::kit::{assert_gone, dialogue, events_of, only_result, shell, stream};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::Step;

/// What is left of an ending that is prompt, on a busy machine.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn c03_1920_one_result_whatever_happened() {
    let endless = || json!([bash("true")]);
    let skip = "--dangerously-skip-permissions";
    let rows: [(&str, Value, &[&str], &str); 7] = [
        ("success", json!([say("ok")]), &[], "success"),
        ("API error", json!([{"status": 400}]), &[], "success"),
        ("turn limit", endless(), &[skip, "--max-turns", "2"], "error_max_turns"),
        ("budget", endless(), &[skip, "--max-budget-usd", "0.000001"], "error_max_budget_usd"),
        ("empty answers", json!([{}, {}, {}, {}]), &[], "error_during_execution"),
        ("refusal", json!([{"stop_reason": "refusal"}]), &[], "success"),
        ("unknown command", json!([]), &["--", "/nope"], "success"),
    ];
    for (name, turns, args, subtype) in rows {
        let world = world(turns);
        let run = claude(&world).args(["-p", "--verbose", "--output-format", "stream-json"]);
        let run = run.args(args.iter().copied());
        let outcome = finish(if name == "unknown command" { run } else { run.args(["--", "go"]) });
        let result = only_result(&outcome);
        assert_eq!(result["subtype"], subtype, "{name}");
        let failed = name != "success";
        assert_eq!((&result["is_error"], outcome.code), (&json!(failed), Some(i32::from(failed))), "{name}");
    }
}

#[test]
fn c03_30333_a_panic_still_ends_with_a_result() {
    for format in ["text", "json", "stream-json"] {
        let world = world(json!([say("never")]));
        let run = claude(&world).args(["-p", "go", "--verbose", "--output-format", format]);
        let outcome = finish(run.env("RALPH_FAILPOINT", "panic-in-turn"));
        assert_eq!(outcome.code, Some(1), "{format}");
        let said = outcome.lines.join("\n");
        assert!(said.contains("Internal error: failpoint panic-in-turn"), "{format}: {said}");
        if format == "stream-json" {
            assert_eq!(only_result(&outcome)["is_error"], true);
        }
    }
}

#[test]
fn c03_8126_an_interrupt_ends_with_a_result() {
    let silent = json!([{"content": [{"type": "text", "text": "never"}], "stall_after_events": 1}]);
    for (name, turns, until) in [
        ("while the model speaks", silent, json!({"type": "stream_event"})),
        ("while a tool runs", json!([bash("sleep 300")]), json!({"type": "assistant"})),
    ] {
        let world = world(turns);
        let run = stream(&world, "go").args(["--dangerously-skip-permissions", "--include-partial-messages"]);
        let outcome = finish(run.wait(until).signal(2));
        let result = only_result(&outcome);
        assert_eq!((outcome.code, &result["is_error"]), (Some(130), &json!(true)), "{name}: {result}");
        assert!(!outcome.lingered && outcome.elapsed < SOON, "{name}: {:?}", outcome.elapsed);
    }
}

#[test]
fn c04_25629_gone_after_result() {
    let stubborn = "(trap '' TERM; exec setsid sleep 300) & echo $! >> pids
                    setsid sh -c 'sleep 300 & echo $! $$ >> pids; wait' & sleep 0.2; echo $! >> pids";
    let world = world(json!([bash(stubborn), say("done")]));
    let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
    assert_eq!((only_result(&outcome)["result"].as_str(), outcome.code), (Some("done"), Some(0)));
    assert!(!outcome.lingered && outcome.elapsed < SOON, "{:?}", outcome.elapsed);
    assert_gone(&world, "pids");
}

#[test]
fn c04_25629_gone_after_the_last_result_of_a_dialogue() {
    let world = world(json!([bash("nohup sleep 300 >/dev/null 2>&1 & echo $! > pids"), say("done")]));
    let run = dialogue(&world).args(["--dangerously-skip-permissions"]);
    let outcome = finish(run.prompt("go").wait(json!({"type": "result"})).close());
    assert_eq!((outcome.unmet.len(), outcome.code), (0, Some(0)));
    assert!(!outcome.lingered && outcome.elapsed < SOON, "{:?}", outcome.elapsed);
    assert_gone(&world, "pids");
}

#[test]
fn c05_53584_a_stream_that_stops_is_an_error() {
    let text = json!([{"type": "text", "text": "this sentence never comes to its end"}]);
    for events in [0, 1, 2, 3] {
        let stalled = json!({"content": text, "stall_after_events": events});
        let world = world(json!([stalled, stalled, stalled, stalled]));
        let run = stream(&world, "go").env("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", "150");
        let outcome = finish(run.env("API_TIMEOUT_MS", "150").env("CLAUDE_CODE_MAX_RETRIES", "1"));
        let result = only_result(&outcome);
        assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)), "after {events} events");
        assert_eq!(events_of(&outcome, "system", "api_retry").len(), 1, "after {events} events");
        assert_ne!(result["result"], "", "after {events} events");
    }
}

#[test]
fn c05_17248_pings_alone_are_no_life() {
    let pings = "event: ping\ndata: {\"type\": \"ping\"}\n\n".repeat(1000);
    let pinging = json!({"raw_sse": pings, "chunk_bytes": 40, "chunk_delay_ms": 20});
    let world = world(json!([pinging, pinging]));
    let run = stream(&world, "go").env("CLAUDE_STREAM_IDLE_TIMEOUT_MS", "300").env("CLAUDE_CODE_MAX_RETRIES", "0");
    let outcome = finish(run);
    assert_eq!((&only_result(&outcome)["is_error"], outcome.code), (&json!(true), Some(1)));
    assert!(outcome.elapsed < SOON, "{:?}", outcome.elapsed);
}

/// A reader that takes its time: far more than a pipe holds is waiting when the run is over.
#[test]
fn c06_77112_nothing_is_cut_when_piped() {
    let answer = "All of this must arrive. ".repeat(12_000);
    for (format, least) in [("text", answer.len()), ("json", answer.len()), ("stream-json", 2 * answer.len())] {
        let world = world(json!([say(&answer)]));
        let script = format!("\"$RALPH\" agent -p go --verbose --output-format {format} | {{ sleep 0.5; cat; }}");
        let outcome = finish(shell(&world, &script));
        let out = outcome.lines.join("\n");
        assert!(out.len() >= least, "{format}: {} bytes of {least}", out.len());
        match format {
            "text" => assert_eq!(out, answer),
            "json" => assert!(serde_json::from_str::<Value>(&out).is_ok_and(|list| list.is_array())),
            _ => assert_eq!(only_result(&outcome)["result"], answer),
        }
    }
}

/// The reference once gave the last lines two seconds.
#[test]
fn c06_67656_a_reader_that_sleeps_gets_everything() {
    let answer = "x".repeat(200_000);
    let world = world(json!([say(&answer)]));
    let outcome = finish(shell(&world, "\"$RALPH\" agent -p go | { sleep 3; cat; }"));
    assert_eq!(outcome.lines, [answer]);
}

/// The waits can only be met by lines that left at once: the tool runs until the signal comes.
#[test]
fn c07_25670_each_line_leaves_at_once() {
    let world = world(json!([bash("sleep 300")]));
    let outcome = finish(
        stream(&world, "go")
            .args(["--dangerously-skip-permissions"])
            .wait(json!({"type": "system", "subtype": "init"}))
            .wait(json!({"type": "assistant"}))
            .step(Step::Signal(2)),
    );
    assert_eq!(outcome.unmet, Vec::<Value>::new());
    assert_eq!(outcome.code, Some(130));
}
