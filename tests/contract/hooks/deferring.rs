//! A hook puts a call off, and whoever resumes the session decides it.

use super::{asked, heard, notes, run, said};
use crate::common::{bash, claude, finish, results, say, tool_results, world};
use serde_json::{Value, json};
use testkit::World;

fn decide(decision: &str) -> Value {
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision}});
    json!({"hooks": {"PreToolUse": [{"hooks": [notes("before"), {"type": "command", "command": format!("echo '{output}'")}]}]}})
}

fn project() -> World {
    world(json!([bash("echo made > made"), say("done"), say("more")]))
}

fn put_off(world: &World) -> (String, Value) {
    let outcome = finish(run(world, &decide("defer"), "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    (outcome.session_id().unwrap(), outcome.result().unwrap())
}

#[test]
fn the_run_ends_before_the_call_and_says_which() {
    let world = project();
    let (_, result) = put_off(&world);
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!(
        (&result["stop_reason"], &result["terminal_reason"]),
        (&json!("tool_deferred"), &json!("tool_deferred"))
    );
    let call = &result["deferred_tool_use"];
    assert_eq!((&call["name"], &call["input"]["command"]), (&json!("Bash"), &json!("echo made > made")));
    assert!(call["id"].is_string() && result["permission_denials"] == json!([]));
    assert_eq!((world.read("made"), asked(&world)), (None, 1));
}

#[test]
fn resuming_asks_the_hooks_again_and_goes_on_without_a_prompt() {
    let world = project();
    let (id, _) = put_off(&world);
    let again = claude(&world)
        .args(["-p", "--verbose", "--output-format", "stream-json", "--resume", &id])
        .args(["--settings", &decide("allow").to_string()])
        .close();
    let outcome = finish(again);
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
    assert!(world.read("made").is_some());
    let told = heard(&world, "before");
    assert_eq!((told.len(), &told[0]["tool_use_id"]), (2, &told[1]["tool_use_id"]));
    // The model sees one call and one result.
    let messages = world.mock().requests()[1].body["messages"].clone();
    let last = messages.as_array().unwrap().last().unwrap().clone();
    assert_eq!((last["content"][0]["type"].as_str(), messages.as_array().unwrap().len()), (Some("tool_result"), 3));
    assert!(!messages.to_string().contains("No result"));
    // And the session can be resumed once more, with nothing left to decide.
    let more = finish(run(&world, &json!({}), "and now?").args(["--resume", &id]));
    assert_eq!(more.result().unwrap()["result"], "more");
    assert_eq!(said(&world, 2).matches("tool_result").count(), 1);
}

#[test]
fn resuming_with_a_prompt_decides_the_call_first() {
    let world = project();
    let (id, _) = put_off(&world);
    let outcome = finish(run(&world, &decide("deny"), "and now?").args(["--resume", &id]));
    assert_eq!(outcome.result().unwrap()["result"], "done");
    let said = said(&world, 1);
    let (refused, prompt) = (said.find("a hook refused it").expect("the refusal"), said.find("and now?").unwrap());
    assert!(refused < prompt && world.read("made").is_none(), "{said}");
}

#[test]
fn a_tool_that_is_gone_is_said_and_the_call_still_waits() {
    let world = project();
    let (id, _) = put_off(&world);
    let outcome = finish(run(&world, &json!({}), "and now?").args(["--resume", &id, "--tools", "Read"]));
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["terminal_reason"]), (Some(1), &json!("tool_deferred_unavailable")));
    let outcome = finish(run(&world, &json!({}), "and now?").args(["--resume", &id]));
    assert_eq!((outcome.code, world.read("made").is_some()), (Some(0), true));
}

#[test]
fn in_a_session_that_goes_on_the_next_prompt_decides_it() {
    let world = project();
    // Puts off the first time only.
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}});
    let command = format!("[ -e asked ] || echo '{output}'; touch asked");
    let hooks = super::on("PreToolUse", &json!([{"type": "command", "command": command}]));
    let outcome = finish(
        super::duplex(&world, &hooks)
            .args(["--dangerously-skip-permissions"])
            .prompt("go")
            .wait(json!({"type": "result", "terminal_reason": "tool_deferred"}))
            .prompt("and now?")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty() && world.read("made").is_some(), "{:?}", outcome.lines);
    assert_eq!(results(&outcome)[1]["result"], "done");
}

#[test]
fn one_of_several_calls_cannot_be_put_off() {
    let two = json!({"content": [
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo one"}},
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo two"}},
    ]});
    let world = world(json!([two, say("done")]));
    let outcome = finish(run(&world, &decide("defer"), "go"));
    assert_eq!(tool_results(&outcome), ["one", "two"]);
    let warned = outcome.events().into_iter().filter(|event| event["level"] == "warning").count();
    assert_eq!((outcome.result().unwrap()["terminal_reason"].as_str(), warned), (Some("completed"), 2));
}
