//! Several prompts a process: the lines that come in, and what each of them gets.

use crate::common::{bash, claude, finish, results, say, world};
use crate::{STREAM, duplex, said_to_model, transcript};
use serde_json::{Value, json};
use testkit::{Outcome, Run, Step, World};

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn raw(run: Run, bytes: impl Into<Vec<u8>>) -> Run {
    run.step(Step::SendRaw(bytes.into()))
}

fn answers(outcome: &Outcome) -> Vec<String> {
    results(outcome).iter().map(|result| result["result"].as_str().unwrap_or("(none)").to_owned()).collect()
}

/// Answers `answer 1`, `answer 2`, …
fn numbered(count: usize) -> World {
    world((1..=count).map(|number| say(&format!("answer {number}"))).collect())
}

#[test]
fn every_prompt_gets_its_own_init_and_result_in_one_session() {
    let world = numbered(3);
    let run = duplex(&world).prompt("one").wait(json!({"type": "result"}));
    let run = run.prompt("two").wait(json!({"type": "result"})).prompt("three").close();
    let outcome = finish(run);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(answers(&outcome), ["answer 1", "answer 2", "answer 3"]);
    let kinds: Vec<String> = outcome.events().iter().map(|event| event["type"].as_str().unwrap().into()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"].repeat(3));
    assert!(outcome.events().iter().all(|event| event["session_id"] == outcome.session_id().unwrap()));
    let uuids: std::collections::BTreeSet<String> =
        outcome.events().iter().map(|event| event["uuid"].as_str().unwrap().to_owned()).collect();
    assert_eq!(uuids.len(), outcome.lines.len(), "every line has its own uuid");
    let third = said_to_model(&world, 2);
    assert!(["one", "answer 1", "two", "answer 2", "three"].iter().all(|text| third.contains(text)), "{third}");
}

#[test]
fn usage_is_of_the_turn_and_model_usage_of_the_process() {
    let world = world(json!([bash("true"), say("one"), say("two")]));
    let outcome = finish(duplex(&world).prompt("a").wait(json!({"type": "result"})).prompt("b").close());
    let [first, second] = &results(&outcome)[..] else { panic!("{:?}", outcome.lines) };
    let usage = |result: &Value| (result["usage"]["input_tokens"].clone(), result["usage"]["output_tokens"].clone());
    let (input, output) = usage(second);
    let (input, output) = (input.as_u64().unwrap(), output.as_u64().unwrap());
    assert!(input > 0 && output > 0);
    assert_eq!(usage(first), (json!(2 * input), json!(2 * output)), "two answers in the first turn, each once");
    let of_process = |result: &Value| {
        let models = result["modelUsage"].as_object().unwrap();
        assert_eq!(models.len(), 1, "{models:?}");
        models.values().next().unwrap().clone()
    };
    assert_eq!(of_process(first)["inputTokens"], 2 * input);
    assert_eq!(of_process(second)["inputTokens"], 3 * input);
    assert_eq!(of_process(second)["outputTokens"], 3 * output);
    let cost = |result: &Value| result["total_cost_usd"].as_f64().unwrap();
    assert!((cost(second) - cost(first) * 1.5).abs() < 1e-9, "{} {}", cost(first), cost(second));
    assert_eq!((first["num_turns"].clone(), second["num_turns"].clone()), (json!(2), json!(1)));
}

#[test]
fn a_hundred_prompts_at_once_get_a_hundred_results_in_order() {
    let world = numbered(100);
    let run = (1..=100).fold(duplex(&world), |run, number| run.prompt(&format!("prompt {number}")));
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let expected: Vec<String> = (1..=100).map(|number| format!("answer {number}")).collect();
    assert_eq!(answers(&outcome), expected);
    for (index, request) in world.mock().requests().iter().enumerate() {
        let last = request.body["messages"].as_array().unwrap().last().unwrap().to_string();
        assert!(last.contains(&format!("prompt {}\"", index + 1)), "{last}");
    }
}

#[test]
fn a_prompt_that_comes_during_a_turn_gets_a_turn_of_its_own() {
    let world = world(json!([bash("sleep 0.3"), say("first"), say("second")]));
    let outcome = finish(duplex(&world).prompt("a").wait(json!({"type": "assistant"})).prompt("b").close());
    assert_eq!(answers(&outcome), ["first", "second"]);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn end_of_input_right_after_the_prompt_means_finish_it() {
    let world = world(json!([bash("sleep 0.3; echo done"), say("finished")]));
    let outcome = finish(duplex(&world).prompt("go").close());
    assert_eq!((outcome.code, answers(&outcome)), (Some(0), vec!["finished".to_owned()]));
}

#[test]
fn end_of_input_without_any_prompt_is_no_error() {
    let world = numbered(1);
    let outcome = finish(duplex(&world).close());
    assert_eq!((outcome.code, outcome.lines.len(), &*outcome.stderr), (Some(0), 0, ""));
}

#[test]
fn the_last_result_decides_the_exit_code() {
    let refused =
        json!({"status": 400, "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}});
    for (turns, code) in [(json!([refused, say("fine")]), 0), (json!([say("fine"), refused]), 1)] {
        let world = world(turns);
        let outcome = finish(duplex(&world).prompt("a").wait(json!({"type": "result"})).prompt("b").close());
        assert_eq!(outcome.code, Some(code), "{:?}", outcome.lines);
        assert_eq!(results(&outcome).len(), 2);
    }
}

#[test]
fn context_without_a_question_goes_with_the_next_prompt() {
    let world = numbered(1);
    let mut context = user("the sky is green here");
    context["shouldQuery"] = json!(false);
    let outcome = finish(duplex(&world).send(context).prompt("what colour?").close());
    assert_eq!(answers(&outcome), ["answer 1"], "the context alone starts no turn");
    assert_eq!(world.mock().requests().len(), 1);
    let messages = said_to_model(&world, 0);
    assert!(messages.find("the sky is green").unwrap() < messages.find("what colour?").unwrap(), "{messages}");
}

#[test]
fn context_without_a_question_is_kept_for_a_later_resume() {
    let world = numbered(2);
    let mut context = user("the sky is green here");
    context["shouldQuery"] = json!(false);
    let first = finish(duplex(&world).prompt("hello").wait(json!({"type": "result"})).send(context).close());
    assert_eq!((first.code, results(&first).len()), (Some(0), 1));
    let id = first.session_id().unwrap();
    let again = finish(claude(&world).args(["-p", "what colour?", "--resume", &id]).close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(said_to_model(&world, 1).contains("the sky is green"), "{}", said_to_model(&world, 1));
}

#[test]
fn replayed_prompts_carry_their_uuid_and_come_before_the_answer() {
    let world = numbered(2);
    let id = "5f0c6f3e-8a54-4c0e-9f0e-0a8b6f1f2d11";
    let mut first = user("echo me");
    first["uuid"] = json!(id);
    let run = duplex(&world).args(["--replay-user-messages"]).send(first).prompt("me too").close();
    let outcome = finish(run);
    let replays: Vec<Value> = outcome.events().into_iter().filter(|event| event["isReplay"] == true).collect();
    assert_eq!(replays.len(), 2, "{:?}", outcome.lines);
    assert_eq!(replays[0]["uuid"], id);
    assert_eq!(replays[0]["message"], json!({"role": "user", "content": "echo me"}));
    assert!(uuid::Uuid::parse_str(replays[1]["uuid"].as_str().unwrap()).is_ok());
    let entries = transcript(&world, &outcome.session_id().unwrap());
    for replay in &replays {
        assert!(entries.iter().any(|entry| entry["uuid"] == replay["uuid"] && entry["type"] == "user"), "{replay}");
    }
    let kind = |event: &Value| event["isReplay"] == true || event["type"] == "assistant";
    let order: Vec<bool> = outcome.events().iter().filter(|e| kind(e)).map(|e| e["isReplay"] == true).collect();
    assert_eq!(order, [true, false, true, false]);
}

#[test]
fn blank_crlf_bom_and_unfinished_lines_are_read() {
    let world = numbered(4);
    let run = raw(duplex(&world), format!("\u{feff}{}\r\n\r\n\n  \t\n", user("bom and crlf")));
    let run = raw(run, format!("{}\n{}\n", user("two in"), user("one write")));
    let outcome = finish(raw(run, user("no newline").to_string()).close());
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(results(&outcome).len(), 4);
    assert!(said_to_model(&world, 3).contains("no newline"));
}

#[test]
fn a_line_that_trickles_in_byte_by_byte_is_one_line() {
    let world = numbered(1);
    let line = format!("{}\n", user("drop by drop é"));
    let run = line.bytes().fold(duplex(&world), |run, byte| raw(run, vec![byte]));
    let outcome = finish(run.close());
    assert_eq!(answers(&outcome), ["answer 1"]);
    assert!(said_to_model(&world, 0).contains("drop by drop é"));
}

#[test]
fn a_line_that_is_no_json_costs_the_exit_code_but_not_the_run() {
    for bad in ["{not json", "[]", "42", "\"text\"", "{\"type\": \"user\"}", "\u{0}", "nul\0byte"] {
        let world = numbered(2);
        let run = raw(duplex(&world).prompt("a").wait(json!({"type": "result"})), format!("{bad}\n"));
        let outcome = finish(run.prompt("b").close());
        assert_eq!(answers(&outcome), ["answer 1", "answer 2"], "{bad:?}");
        assert_eq!(outcome.code, Some(1), "{bad:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{bad:?}: {}", outcome.stderr);
    }
}

#[test]
fn bytes_that_are_no_text_are_a_bad_line() {
    let world = numbered(1);
    let outcome = finish(raw(duplex(&world), b"{\"type\":\"user\",\"x\":\"\xff\xfe\"}\n").prompt("b").close());
    assert_eq!((outcome.code, answers(&outcome)), (Some(1), vec!["answer 1".to_owned()]), "{}", outcome.stderr);
}

#[test]
fn messages_of_unknown_type_are_passed_by() {
    let world = numbered(1);
    let run = duplex(&world)
        .send(json!({"type": "keep_alive"}))
        .send(json!({"type": "of_the_future", "deep": {"x": [1, 2]}}))
        .send(json!({"type": "control_cancel_request", "request_id": "r"}))
        .send(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "nobody"}}));
    let outcome = finish(run.prompt("hello").close());
    assert_eq!((outcome.code, answers(&outcome), &*outcome.stderr), (Some(0), vec!["answer 1".to_owned()], ""));
}

#[test]
fn prompts_come_in_every_shape_that_clients_send() {
    let blocks = json!([{"type": "text", "text": "first block"}, {"type": "text", "text": "second block"}]);
    let shapes = [
        json!({"type": "user", "message": {"role": "user", "content": "plain"}, "session_id": ""}),
        json!({"type": "user", "message": {"role": "user", "content": "plain"}, "session_id": "s_default"}),
        json!({"session_id": "x", "parent_tool_use_id": null, "message": {"content": blocks, "role": "user"}, "type": "user"}),
        json!({"type": "user", "message": {"role": "user", "content": "plain"}, "uuid": "not-a-uuid", "origin": {"kind": "robot"},
            "priority": "now", "timestamp": "x", "unheard_of": {"of": 1}}),
    ];
    let world = numbered(shapes.len());
    let run = shapes.iter().fold(duplex(&world), |run, shape| run.send(shape.clone()));
    let outcome = finish(run.close());
    assert_eq!((outcome.code, results(&outcome).len(), &*outcome.stderr), (Some(0), shapes.len(), ""));
    assert!(said_to_model(&world, 2).contains("second block"));
    let own = outcome.session_id().unwrap();
    assert!(outcome.events().iter().all(|event| event["session_id"] == own), "the client's session id is not ours");
}

#[test]
fn an_empty_prompt_ends_at_once_without_asking_the_model() {
    let world = numbered(1);
    let outcome = finish(duplex(&world).prompt("  \n ").wait(json!({"type": "result"})).prompt("real").close());
    assert_eq!(results(&outcome).len(), 2);
    assert!(outcome.events().iter().any(|event| event["subtype"] == "informational"));
    assert_eq!(world.mock().requests().len(), 1);
}

#[test]
fn partial_messages_come_in_order_and_before_their_block() {
    let world = world(json!([{"content": [{"type": "thinking", "thinking": "hm, let me think about that"},
        {"type": "text", "text": "This is a text of some length."}]}]));
    let outcome = finish(duplex(&world).args(["--include-partial-messages"]).prompt("go").close());
    let events = outcome.events();
    assert_eq!((events[0]["type"].as_str(), events[0]["subtype"].as_str()), (Some("system"), Some("init")));
    let steps: Vec<String> = events
        .iter()
        .filter_map(|event| match event["type"].as_str()? {
            "stream_event" => Some(event["event"]["type"].as_str()?.to_owned()),
            "assistant" => Some(format!("= {}", event["message"]["content"][0]["type"].as_str()?)),
            _ => None,
        })
        .collect();
    let mut once = steps.clone();
    once.dedup();
    assert_eq!(
        once,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "= thinking",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "= text",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    let deltas = events.iter().filter_map(|event| event["event"]["delta"]["text"].as_str());
    assert_eq!(deltas.collect::<String>(), "This is a text of some length.");
    assert!(events.iter().any(|event| event["event"]["delta"]["type"] == "signature_delta"), "{steps:?}");
    let whole = events.iter().find(|event| event["message"]["content"][0]["type"] == "thinking").unwrap();
    assert!(whole["message"]["content"][0]["signature"].is_string());
}

#[test]
fn without_the_flag_there_are_no_partial_messages() {
    let world = numbered(1);
    let outcome = finish(duplex(&world).prompt("go").close());
    assert!(outcome.events().iter().all(|event| event["type"] != "stream_event"));
}

#[test]
fn json_is_the_result_alone_and_verbose_json_the_list_of_all() {
    let world = world(json!([bash("echo hi"), say("one"), bash("echo hi"), say("two")]));
    let arguments = ["-p", "go", "--dangerously-skip-permissions", "--output-format", "json"];
    let plain = finish(claude(&world).args(arguments).close());
    let object: Value = serde_json::from_str(&plain.lines.join("\n")).unwrap();
    assert_eq!((&object["type"], &object["result"]), (&json!("result"), &json!("one")));
    let verbose = finish(claude(&world).args(arguments).args(["--verbose"]).close());
    let list: Vec<Value> = serde_json::from_str(&verbose.lines.join("\n")).unwrap();
    let kinds: Vec<&str> = list.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["system", "assistant", "user", "assistant", "result"]);
    assert_eq!(list.last().unwrap()["result"], "two");
    assert_eq!((plain.stderr, verbose.stderr), (String::new(), String::new()));
}

#[test]
fn strict_readers_find_what_they_insist_on() {
    let world = world(json!([{"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo hi"}}]}, say("b")]));
    let outcome = finish(claude(&world).args(STREAM).args(["go", "--dangerously-skip-permissions"]).close());
    for event in outcome.events() {
        match event["type"].as_str().unwrap() {
            "assistant" => {
                assert_eq!(event["message"]["content"].as_array().unwrap().len(), 1, "one block a line");
                assert!(event["message"]["model"].is_string());
                for count in ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                {
                    assert!(event["message"]["usage"][count].is_u64(), "{count}");
                }
            }
            "user" => assert!(event["message"]["content"][0]["content"].is_string(), "a tool result is a string"),
            "system" => assert!(event["session_id"].is_string() && event["model"].is_string()),
            "result" => {
                assert!(
                    event["duration_ms"].is_u64() && event["duration_api_ms"].is_u64() && event["num_turns"].is_u64()
                );
                assert!(
                    event["total_cost_usd"].is_number()
                        && event["is_error"].is_boolean()
                        && event["result"].is_string()
                );
                for count in ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                {
                    assert!(event["usage"][count].is_u64(), "{count}");
                }
            }
            other => panic!("a strict reader does not know {other}"),
        }
    }
}
