//! Answers that are cut, empty or refused.

use crate::common::{bash, claude, finish, results, say, tool_results, world};
use crate::streaming;
use serde_json::{Value, json};
use testkit::World;

fn cut(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "stop_reason": "max_tokens"})
}

fn last_message(world: &World, request: usize) -> Value {
    world.mock().requests()[request].body["messages"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn an_answer_over_the_output_limit_is_continued() {
    let world = world(json!([cut("the first half"), say("the second half")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!((outcome.code, results(&outcome).len()), (Some(0), 1), "{}", outcome.stderr);
    let messages = world.mock().requests()[1].body["messages"].clone();
    assert!(messages.to_string().contains("the first half"), "{messages}");
    assert_eq!(last_message(&world, 1)["role"], "user");
    assert_eq!(outcome.result().unwrap()["result"], "the second half", "the last message of the answer");
}

#[test]
fn an_answer_that_is_always_too_long_ends_with_an_error_that_says_what_to_do() {
    let world = world(json!([cut("a"), cut("b"), cut("c"), cut("d"), cut("e"), cut("f")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(1));
    let result = outcome.result().unwrap();
    assert!(result["errors"][0].as_str().unwrap().contains("CLAUDE_CODE_MAX_OUTPUT_TOKENS"), "{result}");
    assert!(world.mock().requests().len() <= 5);
}

#[test]
fn a_call_that_was_cut_by_the_limit_is_an_error_for_the_model_and_runs_nothing() {
    let half = json!({"content": [{"type": "tool_use", "name": "Bash", "input_json": "{\"command\": \"touch ran"}], "stop_reason": "max_tokens"});
    let world = world(json!([half, bash("touch whole"), say("done")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!((world.read("ran"), world.read("whole")), (None, Some(String::new())));
    assert_eq!(tool_results(&outcome).len(), 2);
    assert_eq!(last_message(&world, 1)["content"][0]["is_error"], true, "{}", last_message(&world, 1));
}

#[test]
fn a_refusal_is_an_error_result_that_says_so() {
    let refusal = json!({"content": [], "stop_reason": "refusal", "stop_details": {"category": "cyber"}});
    let world = world(json!([refusal]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!((outcome.code, results(&outcome).len()), (Some(1), 1));
    let result = outcome.result().unwrap();
    assert_eq!((&result["is_error"], &result["stop_reason"]), (&json!(true), &json!("refusal")));
    assert!(result["result"].as_str().unwrap().contains("declined"), "{result}");
    assert_eq!(world.mock().requests().len(), 1, "a refusal is not asked again");
}

#[test]
fn an_empty_answer_is_asked_to_go_on_and_not_sent_back() {
    let world = world(json!([bash("echo hi"), {"content": []}, say("here it is")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!(
        (outcome.code, &outcome.result().unwrap()["result"]),
        (Some(0), &json!("here it is")),
        "{}",
        outcome.stderr
    );
    let messages = world.mock().requests()[2].body["messages"].clone();
    let empty = |message: &Value| message["content"].as_array().is_some_and(Vec::is_empty) || message["content"] == "";
    assert!(!messages.as_array().unwrap().iter().any(empty), "the API refuses empty content: {messages}");
    assert_eq!(last_message(&world, 2)["role"], "user");
}

#[test]
fn empty_answers_for_ever_are_an_error_and_not_a_success_without_words() {
    let world = world(json!([{"content": []}, {"content": []}, {"content": []}, {"content": []}, {"content": []}]));
    let outcome = finish(streaming(&world, "go"));
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["is_error"]), (Some(1), &json!(true)), "{result}");
    assert!(world.mock().requests().len() <= 4);
}

#[test]
fn the_result_is_the_last_thing_said_even_when_the_turn_ends_in_silence() {
    // Text beside a call, then nothing but an empty end: what was said counts.
    let world = world(json!([{"content": [{"type": "text", "text": "the answer is 42"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "true"}}]}, {"content": [{"type": "text", "text": " "}]}, say("42 it is")]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!((outcome.code, &outcome.result().unwrap()["result"]), (Some(0), &json!("42 it is")));
}

#[test]
fn a_model_that_never_stops_calling_is_stopped_by_max_turns() {
    let world = world(json!([bash("true")]));
    let outcome = finish(
        claude(&world)
            .args(["-p", "go", "--max-turns", "3", "--output-format", "json", "--dangerously-skip-permissions"])
            .close(),
    );
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["subtype"]), (Some(1), &json!("error_max_turns")));
    assert_eq!(result["errors"], json!(["Reached maximum number of turns (3)"]));
    assert_eq!(world.mock().requests().len(), 3);
}
