//! Faults of the model's stream: one result, the right words, the right exit code, and usage counted once.

use crate::kit::{bash, finish, say, script, stream};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::{Outcome, World};

/// Cuts that are tried in an ordinary run, spread over the stream; `RALPH_ADVERSARY_CUTS` asks for another number.
const CUTS: usize = 24;

fn run(turns: Value) -> (World, Outcome) {
    let world = World::empty(script(turns)).unwrap();
    let run = stream(&world).args(["--dangerously-skip-permissions"]).env("CLAUDE_CODE_MAX_RETRIES", "2");
    let outcome = finish(run.deadline(Duration::from_secs(40)).close());
    (world, outcome)
}

/// The one result, which agrees with itself and with the exit code.
fn result(outcome: &Outcome) -> Value {
    let events = outcome.events();
    let results: Vec<&Value> = events.iter().filter(|event| event["type"] == "result").collect();
    assert_eq!(results.len(), 1, "{:#?}\n{}", outcome.lines, outcome.stderr);
    let result = results[0].clone();
    let failed = result["is_error"] == true;
    assert_eq!(outcome.code, Some(i32::from(failed)), "{result}");
    let attempts: Vec<u64> = events
        .iter()
        .filter(|event| event["subtype"] == "api_retry")
        .filter_map(|event| event["attempt"].as_u64())
        .collect();
    assert!(attempts.windows(2).all(|pair| pair[0] < pair[1]), "retries are not monotone: {attempts:?}");
    result
}

fn usage() -> Value {
    json!({"input_tokens": 11, "output_tokens": 7})
}

fn answer() -> Value {
    json!({"content": [{"type": "text", "text": "the whole answer"}], "usage": usage()})
}

#[test]
fn m40_a_stream_cut_anywhere_is_answered_once_and_counted_once() {
    let cuts = cuts();
    // Longer than the stream is: the last cuts are none.
    let length = 1_400;
    for n in 0..cuts {
        let at = n * length / cuts;
        let mut cut = answer();
        cut["cut_after_bytes"] = json!(at);
        let (world, outcome) = run(json!([cut, answer()]));
        let result = result(&outcome);
        assert_eq!(
            (&result["result"], &result["is_error"]),
            (&json!("the whole answer"), &json!(false)),
            "cut at {at}"
        );
        assert!(world.mock().requests().len() <= 2, "cut at {at}");
        // Each message that came counts, and counts once: of a cut one nothing may have come.
        let said: Vec<Value> = outcome.events().into_iter().filter(|event| event["type"] == "assistant").collect();
        let ids: BTreeSet<String> = said.iter().map(|event| event["message"]["id"].to_string()).collect();
        assert_eq!(result["usage"]["output_tokens"], 7 * ids.len(), "cut at {at}: {}", result["usage"]);
    }
}

/// How many places of the stream are cut.
#[expect(clippy::disallowed_methods, reason = "a knob of the test")]
fn cuts() -> usize {
    std::env::var("RALPH_ADVERSARY_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(CUTS)
}

#[test]
fn m40_refusals_of_the_server_are_retried_or_not_as_they_should() {
    let status = |code: u16, headers: Value| json!({"status": code, "headers": headers});
    for (what, fault, requests, recovers) in [
        ("429", status(429, json!({})), 2, true),
        ("429 with a short wait", status(429, json!({"retry-after": "1"})), 2, true),
        ("429 with none", status(429, json!({"retry-after": "0"})), 2, true),
        ("429 with a date in the past", status(429, json!({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})), 2, true),
        ("429 with nonsense", status(429, json!({"retry-after": "soon"})), 2, true),
        ("429 with a negative wait", status(429, json!({"retry-after": "-5"})), 2, true),
        ("429 until next year", status(429, json!({"retry-after": "9999999"})), 1, false),
        ("529", status(529, json!({})), 2, true),
        ("500", status(500, json!({})), 2, true),
        ("503", status(503, json!({})), 2, true),
        ("401", status(401, json!({})), 1, false),
        ("403", status(403, json!({})), 1, false),
        ("400", status(400, json!({})), 1, false),
        ("404", status(404, json!({})), 1, false),
        ("413", status(413, json!({})), 1, false),
    ] {
        let (world, outcome) = run(json!([fault, answer()]));
        let result = result(&outcome);
        assert_eq!(world.mock().requests().len(), requests, "{what}: {result}");
        assert_eq!(result["is_error"] == false, recovers, "{what}: {result}");
        if recovers {
            assert_eq!(result["usage"]["output_tokens"], 7, "{what}");
        }
    }
}

#[test]
fn m40_answers_that_are_none_end_in_one_error() {
    let page = "<html><body>Sign in to the hotel's network</body></html>";
    let event = |kind: &str, data: Value| format!("event: {kind}\ndata: {data}\n\n");
    let start = event(
        "message_start",
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    );
    let ping = event("ping", json!({"type": "ping"}));
    for (what, turn) in [
        ("a page", json!({"body": page, "content_type": "text/html"})),
        ("empty", json!({"body": "", "content_type": "text/event-stream"})),
        ("json that is no message", json!({"body": "[]", "content_type": "application/json"})),
        ("no stop", json!({"raw_sse": start})),
        ("pings only", json!({"raw_sse": ping.repeat(50)})),
        ("garbled json", json!({"raw_sse": format!("{start}event: content_block_start\ndata: {{\"type\":\n\n")})),
        (
            "an index out of nowhere",
            json!({"raw_sse": format!("{start}{}", event("content_block_delta", json!({"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "x"}})))}),
        ),
        ("invalid utf-8 in the middle", json!({"raw_sse": format!("{start}data: \u{fffd}\n\n")})),
    ] {
        let (_world, outcome) = run(json!([turn, turn, turn, turn]));
        let result = result(&outcome);
        assert_eq!(result["is_error"], true, "{what}: {result}");
        assert!(
            result["result"].as_str().is_some_and(|words| !words.is_empty()),
            "{what}: it does not say why: {result}"
        );
    }
}

#[test]
fn m40_what_a_future_server_adds_is_passed_by() {
    let sse = [
        json!({"type": "from_the_future", "x": 1}),
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "zzz": [1], "usage": {"input_tokens": 3, "output_tokens": 1, "zzz": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "zzz": null}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "from_the_future", "x": "y"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "the whole answer"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "zzz": 1}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    let text: String =
        sse.iter().map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())).collect();
    for stream in [
        text.clone(),
        text.replace('\n', "\r\n"),
        format!(": a comment\n\n{text}"),
        text.replace("event: message_stop\n", ""),
    ] {
        let (_world, outcome) = run(json!([{"raw_sse": stream}]));
        assert_eq!(result(&outcome)["result"], "the whole answer", "{stream:?}");
    }
}

#[test]
fn m40_calls_that_are_broken_are_not_run() {
    let call = |id: &str, input: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input_json": input});
    let touch = |name: &str| format!("{{\"command\": \"touch {name}\"}}");
    for (what, turn, may_run) in [
        ("half an input", json!({"content": [call("a", "{\"command\": \"touch ran")]}), false),
        ("an input that is no object", json!({"content": [call("a", "[1]")]}), false),
        ("an empty input", json!({"content": [call("a", "")]}), false),
        (
            "cut by the limit",
            json!({"content": [call("a", "{\"command\": \"touch ran")], "stop_reason": "max_tokens"}),
            false,
        ),
        ("the same id twice", json!({"content": [call("a", &touch("one")), call("a", &touch("two"))]}), true),
        (
            "a name of nothing",
            json!({"content": [{"type": "tool_use", "id": "a", "name": "NoSuchTool", "input": {}}]}),
            false,
        ),
        ("no name", json!({"content": [{"type": "tool_use", "id": "a", "name": "", "input": {}}]}), false),
    ] {
        let (world, outcome) = run(json!([turn, say("done"), say("done"), say("done")]));
        let result = result(&outcome);
        assert_eq!(result["is_error"], false, "{what}: {result}");
        assert!(may_run || !world.wd().join("ran").exists(), "{what}");
        // Whatever was asked, each call has exactly one answer when the model is asked again.
        let asked = world.mock().requests().last().unwrap().body["messages"].clone();
        let blocks = |kind: &str, key: &str| -> Vec<String> {
            let all = asked
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
            all.filter(|block| block["type"] == kind)
                .filter_map(|block| block[key].as_str().map(str::to_owned))
                .collect()
        };
        let (calls, answers) = (blocks("tool_use", "id"), blocks("tool_result", "tool_use_id"));
        assert_eq!(calls, answers, "{what}");
        let mut unique = calls.clone();
        unique.dedup();
        assert_eq!(unique, calls, "{what}: the API refuses an id that stands twice");
    }
}

#[test]
fn m40_a_connection_that_is_reset_or_refused_is_retried_and_then_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut seen = 0;
        // Accepts and closes at once, three times: the first try and two more.
        for connection in listener.incoming().take(3) {
            drop(connection);
            seen += 1;
        }
        seen
    });
    let world = World::empty(script(json!([bash("true")]))).unwrap();
    let run =
        stream(&world).env("ANTHROPIC_BASE_URL", &format!("http://{address}")).env("CLAUDE_CODE_MAX_RETRIES", "2");
    let outcome = finish(run.deadline(Duration::from_secs(40)).close());
    assert_eq!(result(&outcome)["is_error"], true);
    assert_eq!(server.join().unwrap(), 3);
}
