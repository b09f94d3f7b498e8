//! Another model in the middle of a session.

use super::{answer, control, duplex, heard, notes, on, only, run};
use crate::common::{finish, say, world};
use serde_json::{Value, json};

fn set_model(id: &str, model: &str) -> Value {
    control(id, &json!({"subtype": "set_model", "model": model}))
}

fn model_of(world: &testkit::World, request: usize) -> String {
    world.mock().requests()[request].body["model"].as_str().unwrap().to_owned()
}

#[test]
fn a_switch_is_told_before_and_after() {
    let world = world(json!([say("one"), say("two")]));
    let hooks = json!({"hooks": {"PreModelSwitch": [{"hooks": [notes("before")]}], "PostModelSwitch": [{"hooks": [notes("after"), {"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostModelSwitch\",\"additionalContext\":\"be brief\"}}'"}]}]}});
    let outcome = finish(
        duplex(&world, &hooks)
            .args(["--model", "opus"])
            .prompt("one")
            .wait(json!({"type": "result"}))
            .send(set_model("m", "haiku"))
            .prompt("two")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    for file in ["before", "after"] {
        let told = only(&world, file);
        assert!(
            told["from_model"].as_str().unwrap().contains("opus")
                && told["to_model"].as_str().unwrap().contains("haiku"),
            "{told}"
        );
        assert_eq!(
            (&told["requested_model"], &told["source"], &told["cache_ttl"]),
            (&json!("haiku"), &json!("sdk"), &json!("5m"))
        );
        assert!(
            told["context_tokens"].as_u64().unwrap() > 0 && told["estimated_cache_write_usd"].as_f64().unwrap() > 0.0,
            "{told}"
        );
        assert_eq!(told["pricing"], "catalog");
    }
    assert!(model_of(&world, 1).contains("haiku"));
    assert!(world.mock().requests()[1].body["messages"].to_string().contains("be brief"));
}

#[test]
fn a_refused_switch_is_an_error_and_the_model_stays() {
    for command in [
        "echo too dear >&2; exit 2",
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreModelSwitch\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"too dear\"}}'",
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreModelSwitch\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"too dear\"}}'",
    ] {
        let world = world(json!([say("one")]));
        let hooks = on("PreModelSwitch", &json!([{"type": "command", "command": command}]));
        let outcome = finish(
            duplex(&world, &hooks)
                .args(["--model", "haiku"])
                .send(set_model("m", "opus"))
                .prompt("one")
                .wait(json!({"type": "result"}))
                .close(),
        );
        let refused = outcome.events().into_iter().find(|event| event["response"]["request_id"] == "m").unwrap();
        let error = refused["response"]["error"].as_str().unwrap();
        assert_eq!(error, "Model switch blocked by a PreModelSwitch hook: too dear");
        assert!(model_of(&world, 0).contains("haiku"));
    }
}

/// The hook lives in the client, which has written its prompt already: nothing may wait for anything else.
#[test]
fn a_client_that_hooks_the_switch_it_asks_for_is_not_waited_for_in_a_circle() {
    let world = world(json!([say("one")]));
    let hooks =
        json!({"PreModelSwitch": [{"hookCallbackIds": ["pre"]}], "PostModelSwitch": [{"hookCallbackIds": ["post"]}]});
    let outcome = finish(
        duplex(&world, &json!({}))
            .args(["--model", "opus"])
            .send(control("i", &json!({"subtype": "initialize", "hooks": hooks})))
            .send(set_model("m", "haiku"))
            .prompt("one")
            .wait(json!({"type": "control_request", "request": {"subtype": "hook_callback", "callback_id": "pre"}}))
            .send(answer(&json!({})))
            .wait(json!({"type": "control_request", "request": {"subtype": "hook_callback", "callback_id": "post"}}))
            .send(answer(&json!({})))
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    assert!(model_of(&world, 0).contains("haiku"), "the prompt waited for the switch before it");
}

#[test]
fn a_typed_command_switches_too_and_the_same_model_is_no_switch() {
    let world = world(json!([]));
    let hooks = json!({"hooks": {"PostModelSwitch": [{"hooks": [notes("after")]}]}});
    finish(run(&world, &hooks, "/model haiku").args(["--model", "opus"]));
    assert_eq!(only(&world, "after")["source"], "command");
    finish(run(&world, &hooks, "/model haiku").args(["--model", "haiku"]));
    assert_eq!(heard(&world, "after").len(), 1);
}

/// The rest of the turn goes on with the other model, and the next turn tries the first one again.
#[test]
fn a_model_that_gives_way_is_a_switch_that_nobody_asked_for() {
    let gone = json!({"status": 404, "error": {"type": "error", "error": {"type": "not_found_error", "message": "model: gone"}}});
    let world = world(json!([gone, crate::common::bash("echo 1"), say("one"), gone, say("two")]));
    let hooks = json!({"hooks": {"PreModelSwitch": [{"hooks": [notes("before")]}], "PostModelSwitch": [{"hooks": [notes("after"), {"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostModelSwitch\",\"additionalContext\":\"be brief\"}}'"}]}]}});
    let outcome = finish(
        duplex(&world, &hooks)
            .args(["--model", "claude-opus-5", "--fallback-model", "claude-sonnet-5"])
            .prompt("one")
            .wait(json!({"type": "result"}))
            .prompt("two")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.lines);
    let asked: Vec<String> = (0..5).map(|request| model_of(&world, request)).collect();
    let (first, other) = ("claude-opus-5", "claude-sonnet-5");
    assert_eq!(asked, [first, other, other, first, other]);
    let told = heard(&world, "after");
    assert_eq!(told.len(), 2);
    for told in told {
        assert_eq!(
            (&told["from_model"], &told["to_model"], &told["source"]),
            (&json!(first), &json!(other), &json!("auto"))
        );
    }
    assert!(world.mock().requests()[1].body["messages"].to_string().contains("be brief"));
    assert!(heard(&world, "before").is_empty(), "it cannot be refused");
}
