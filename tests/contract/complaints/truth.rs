//! Complaints 8 to 13 and 24: failures look like failures, numbers are true.

use crate::common::{bash, call, claude, finish, say, world};
use crate::kit::{events_of, messages, only_result, stream};
use serde_json::{Value, json};
use testkit::World;

#[test]
fn c08_79500_api_errors_are_failures_in_every_format() {
    for status in [400, 401, 402, 403, 404, 413, 429, 500, 503, 529] {
        for format in ["text", "json", "stream-json"] {
            let world = world(json!([{"status": status}, {"status": status}]));
            let run = claude(&world).args(["-p", "go", "--verbose", "--output-format", format]);
            let outcome = finish(run.env("CLAUDE_CODE_MAX_RETRIES", "0"));
            assert_eq!(outcome.code, Some(1), "{status} {format}");
            let said = outcome.lines.join("\n");
            assert!(said.contains("API Error"), "{status} {format}: {said}");
            assert_eq!(outcome.stderr, "", "{status} {format}: the error is said once");
            if format == "stream-json" {
                let result = only_result(&outcome);
                assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)), "{status}");
                assert_eq!(result["api_error_status"], status);
                let told = events_of(&outcome, "assistant", "");
                assert!(told.len() == 1 && told[0]["error"].is_string(), "{status}: {told:?}");
            }
        }
    }
}

#[test]
fn c08_79500_so_are_errors_inside_a_good_response() {
    let said = json!([{"type": "text", "text": "a sentence that never comes to its end"}]);
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let rows = [
        ("an error event", json!({"content": said, "error": overloaded, "cut_after_events": 3})),
        ("a page of a proxy", json!({"body": "<html>Please sign in</html>"})),
        ("an empty body", json!({"body": "", "content_type": "text/event-stream"})),
        ("nonsense", json!({"raw_sse": "data: {\"type\": \"message_sta\n\n"})),
    ];
    for (name, turn) in rows {
        let world = world(json!([turn, turn]));
        let outcome = finish(stream(&world, "go").env("CLAUDE_CODE_MAX_RETRIES", "0"));
        assert_eq!((&only_result(&outcome)["is_error"], outcome.code), (&json!(true), Some(1)), "{name}");
    }
}

#[test]
fn c09_88387_an_unknown_command_is_an_error() {
    let world = world(json!([say("never")]));
    let outcome = finish(stream(&world, "/no-such-command with words"));
    let result = only_result(&outcome);
    assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)));
    assert!(result["result"].as_str().unwrap_or_default().contains("/no-such-command"), "{result}");
    let outcome = finish(claude(&world).args(["-p", "/no-such-command"]));
    assert_eq!((outcome.lines.len(), outcome.code), (1, Some(1)));
    assert!(outcome.lines[0].contains("/no-such-command"), "{:?}", outcome.lines);
    assert!(world.mock().requests().is_empty());
}

#[test]
fn c10_76867_every_denial_is_seen() {
    let both = json!({"content": [
        {"type": "tool_use", "name": "Bash", "input": {"command": "touch a"}},
        {"type": "tool_use", "name": "Write", "input": {"file_path": "$WD/b", "content": "b"}},
    ]});
    let world = world(json!([both, say("could not")]));
    let outcome = finish(stream(&world, "go"));
    let result = only_result(&outcome);
    let denied: Vec<&Value> = result["permission_denials"].as_array().expect("a list").iter().collect();
    let names: Vec<&str> = denied.iter().filter_map(|denial| denial["tool_name"].as_str()).collect();
    assert_eq!(names, ["Bash", "Write"]);
    assert_eq!(denied[0]["tool_input"]["command"], "touch a");
    let told: Vec<Value> =
        events_of(&outcome, "system", "permission_denied").iter().map(|event| event["tool_use_id"].clone()).collect();
    assert_eq!(told, [denied[0]["tool_use_id"].clone(), denied[1]["tool_use_id"].clone()]);
    assert_eq!((world.read("a"), world.read("b"), outcome.code), (None, None, Some(0)));
    assert!(messages(&world, 1).contains("\"is_error\":true"));
}

#[test]
fn c10_90578_plain_text_says_so_on_stderr() {
    let world = world(json!([bash("touch a"), say("could not")]));
    let outcome = finish(claude(&world).args(["-p", "go"]));
    assert_eq!((outcome.lines, outcome.code), (vec!["could not".into()], Some(0)));
    assert!(outcome.stderr.lines().count() == 1 && outcome.stderr.contains("Bash"), "{}", outcome.stderr);
}

#[test]
fn c10_82747_the_denials_of_a_subagent_count() {
    let task = json!({"description": "a task", "prompt": "do it"});
    let world = world(json!([call("Agent", &task), bash("touch a"), say("inner"), say("outer")]));
    let outcome = finish(stream(&world, "go"));
    let result = only_result(&outcome);
    assert_eq!(result["result"], "outer");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch a", "{result}");
    assert_eq!(events_of(&outcome, "system", "permission_denied").len(), 1);
}

fn world_with_skill(body: &str, turns: Value) -> World {
    let text = format!("---\nname: check\ndescription: checks\n---\n{body}\n");
    let script = mock::Script::from_value(turns).expect("a script");
    let world = World::empty(script).expect("a world");
    let folder = world.home().join(".claude/skills/check");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("SKILL.md"), text).expect("a skill");
    world
}

#[test]
fn c11_87159_a_skill_whose_command_fails_is_an_error() {
    let failing = "Look at this:\n\n!`echo broken-preamble >&2; exit 3`\n\nNow work.";
    let world = world_with_skill(failing, json!([say("never")]));
    let outcome = finish(stream(&world, "/check").args(["--dangerously-skip-permissions"]));
    let result = only_result(&outcome);
    assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)), "{result}");
    assert!(result["result"].as_str().unwrap_or_default().contains("broken-preamble"), "{result}");
    assert!(world.mock().requests().is_empty());
}

#[test]
fn c11_87159_one_that_may_not_run_is_an_error_too() {
    let world = world_with_skill("!`touch made`", json!([say("never")]));
    let outcome = finish(stream(&world, "/check"));
    let result = only_result(&outcome);
    assert_eq!((&result["is_error"], outcome.code, world.read("made")), (&json!(true), Some(1), None), "{result}");
    assert_eq!(result["permission_denials"].as_array().map(Vec::len), Some(1));
}

#[test]
fn c11_87159_one_that_works_reaches_the_model() {
    let world = world_with_skill("Seen: !`echo from-the-$((1+1))nd-command`", json!([say("done")]));
    let outcome = finish(stream(&world, "/check").args(["--dangerously-skip-permissions"]));
    assert_eq!((only_result(&outcome)["result"].as_str(), outcome.code), (Some("done"), Some(0)));
    assert!(messages(&world, 0).contains("Seen: from-the-2nd-command"));
}

#[test]
fn c12_38760_the_result_holds_what_was_said() {
    let said = |blocks: Value| json!({"content": blocks});
    let text = |text: &str| json!({"type": "text", "text": text});
    let thought = json!({"type": "thinking", "thinking": "hm"});
    let rows = [
        ("an empty last block", json!([said(json!([text("the answer"), text("")]))])),
        ("thinking before it", json!([said(json!([thought, text("the answer")]))])),
        ("an empty answer, then more", json!([{}, say("the answer")])),
        ("only thinking, then more", json!([said(json!([thought])), say("the answer")])),
        ("blanks, then more", json!([say("  \n"), say("the answer")])),
        ("a tool, nothing, then more", json!([bash("echo hi"), {}, say("the answer")])),
    ];
    for (name, turns) in rows {
        let world = world(turns);
        let outcome = finish(stream(&world, "go"));
        let result = only_result(&outcome);
        assert_eq!((&result["result"], outcome.code), (&json!("the answer"), Some(0)), "{name}: {result}");
    }
}

#[test]
fn c12_38611_a_model_that_says_nothing_is_no_success() {
    let world = world(json!([bash("echo hi"), {}, {}, {}, {}, {}, {}]));
    let outcome = finish(stream(&world, "go"));
    let result = only_result(&outcome);
    assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)), "{result}");
    assert!(world.mock().requests().len() <= 4, "it was asked {} times", world.mock().requests().len());
}

/// Wherever the line breaks, the answer is either whole or the run has failed.
#[test]
fn c13_40432_a_cut_answer_is_never_a_success() {
    let whole = "A sentence of more than forty characters, so that it comes in pieces.";
    for cut in 0..8 {
        let turn = json!({"content": [{"type": "text", "text": whole}], "cut_after_events": cut});
        let cut_once = world(json!([turn, say("whole again")]));
        let outcome = finish(stream(&cut_once, "go"));
        let result = only_result(&outcome);
        assert_eq!((&result["result"], outcome.code), (&json!("whole again"), Some(0)), "cut after {cut}: {result}");
        let cut_always = world(json!([turn, turn, turn, turn, turn, turn]));
        let outcome = finish(stream(&cut_always, "go").env("CLAUDE_CODE_MAX_RETRIES", "0"));
        assert_eq!((&only_result(&outcome)["is_error"], outcome.code), (&json!(true), Some(1)), "cut after {cut}");
    }
}

#[test]
fn c13_40432_a_stream_that_ends_early_but_politely_is_cut_too() {
    let started = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\
                   \"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
                   event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
                   \"content_block\":{\"type\":\"text\",\"text\":\"half\"}}\n\n";
    let world = world(json!([{"raw_sse": started}, say("whole")]));
    let outcome = finish(stream(&world, "go"));
    assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("whole"), Some(0)));
    assert_eq!(world.mock().requests().len(), 2);
}

/// A call that came whole is run once, one that was cut not at all.
#[test]
fn c13_40432_a_tool_call_that_was_cut_is_not_run() {
    let command = "echo ran >> log; : a comment that is long enough for several pieces";
    for cut in 0..10 {
        let call = json!({"type": "tool_use", "name": "Bash", "input": {"command": command}});
        let turn = json!({"content": [call], "cut_after_events": cut});
        let world = world(json!([turn, say("done")]));
        let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
        assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("done"), Some(0)), "cut after {cut}");
        let called = events_of(&outcome, "assistant", "")
            .iter()
            .any(|event| event["message"]["content"][0]["type"] == "tool_use");
        assert_eq!(world.read("log"), called.then(|| "ran\n".to_owned()), "cut after {cut}");
    }
}

/// One message of three blocks is one answer, however many lines carry its id.
#[test]
fn c24_6805_usage_is_counted_once() {
    let first = json!({"content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Looking."},
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo hi"}},
    ], "usage": {"input_tokens": 1000, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 5}});
    let world = world(json!([first, say("done")]));
    let outcome = finish(stream(&world, "go").args(["--model", "sonnet"]));
    let result = only_result(&outcome);
    assert_eq!(events_of(&outcome, "assistant", "").len(), 4);
    let usage = &result["usage"];
    let counted = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
    assert_eq!(counted.map(|key| usage[key].as_u64()), [Some(1100), Some(50), Some(73), Some(25)]);
    let models = result["modelUsage"].as_object().expect("an object");
    assert_eq!(models.len(), 1, "{models:?}");
    let of_model = models.values().next().expect("one");
    let counted = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
    assert_eq!(counted.map(|key| of_model[key].as_u64()), [Some(1100), Some(50), Some(73), Some(25)]);
    assert_eq!(of_model["costUSD"], result["total_cost_usd"]);
    assert!(result["total_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0));
}

/// `usage` is this turn's, `modelUsage` and the cost are the process's.
#[test]
fn c24_22686_the_second_turn_does_not_count_the_first_again() {
    let world = world(json!([say("one"), say("two")]));
    let run = crate::kit::dialogue(&world).prompt("a").wait(json!({"type": "result"})).prompt("b");
    let outcome = finish(run.wait(json!({"type": "result"})).close());
    let results = events_of(&outcome, "result", "");
    assert_eq!(results.len(), 2);
    for (result, total) in results.iter().zip([25, 50]) {
        assert_eq!(result["usage"]["output_tokens"], 25);
        let of_model = result["modelUsage"].as_object().and_then(|models| models.values().next()).expect("one");
        assert_eq!(of_model["outputTokens"], total);
        assert_eq!(of_model["costUSD"], result["total_cost_usd"]);
    }
}
