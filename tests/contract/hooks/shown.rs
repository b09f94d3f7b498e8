//! Hooks in the stream, for clients that ask.

use super::{notes, run};
use crate::common::{bash, finish, say, world};
use serde_json::{Value, json};

fn settings() -> Value {
    let hook = |text: &str| json!([{"hooks": [{"type": "command", "command": text}]}]);
    json!({"hooks": {
        "SessionStart": hook("true"), "UserPromptSubmit": hook("true"), "PreToolUse": hook("echo out; echo err >&2"),
        "PostToolUse": hook("exit 1"), "PostToolBatch": hook("true"), "Stop": hook("true"),
        "Notification": hook("true"), "SessionEnd": hook("true"),
    }})
}

fn frames(events: &[Value], subtype: &str) -> Vec<(String, String)> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let frames = events.iter().filter(|event| event["type"] == "system" && event["subtype"] == subtype);
    frames.map(|event| (text(event, "hook_event"), text(event, "hook_id"))).collect()
}

#[test]
fn every_hook_that_starts_has_its_response_where_the_client_asked() {
    let world = world(json!([bash("echo one"), say("done")]));
    let outcome = finish(run(&world, &settings(), "go").args(["--include-hook-events"]));
    let events = outcome.events();
    let started = frames(&events, "hook_started");
    let names: Vec<&str> = started.iter().map(|(event, _)| event.as_str()).collect();
    assert_eq!(names, ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"]);
    assert_eq!(frames(&events, "hook_response"), started);
    let response = |name: &str| {
        events.iter().find(|event| event["subtype"] == "hook_response" && event["hook_event"] == name).unwrap()
    };
    let before = response("PreToolUse");
    assert_eq!((&before["hook_name"], &before["outcome"]), (&json!("PreToolUse:Bash"), &json!("success")));
    assert_eq!(
        (&before["stdout"], &before["stderr"], &before["output"]),
        (&json!("out\n"), &json!("err\n"), &json!("out\nerr\n"))
    );
    assert_eq!(
        (&response("PostToolUse")["exit_code"], &response("PostToolUse")["outcome"]),
        (&json!(1), &json!("error"))
    );
}

#[test]
fn unasked_only_the_start_is_shown() {
    let world = world(json!([bash("echo one"), say("done")]));
    let outcome = finish(run(&world, &settings(), "go"));
    let events = outcome.events();
    assert_eq!(frames(&events, "hook_started").len(), 1);
    assert_eq!(frames(&events, "hook_response")[0].0, "SessionStart");
}

#[test]
fn a_system_message_is_shown_to_people_and_not_to_the_model() {
    let world = world(json!([bash("echo one"), say("done")]));
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo '{\"systemMessage\":\"mind the step\"}'"}]}]}});
    let outcome = finish(run(&world, &hooks, "go"));
    let told = outcome.events().into_iter().find(|event| event["subtype"] == "informational").unwrap();
    assert_eq!((&told["content"], &told["level"]), (&json!("mind the step"), &json!("info")));
    assert!(!super::said(&world, 1).contains("mind the step"));
}

#[test]
fn what_is_registered_but_never_happens_is_no_error() {
    let world = world(json!([say("done")]));
    let hooks: serde_json::Map<String, Value> =
        ["MessageDisplay", "TeammateIdle", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult"]
            .iter()
            .map(|event| ((*event).to_owned(), json!([{"hooks": [notes("heard")]}])))
            .collect();
    let outcome = finish(run(&world, &json!({"hooks": hooks}), "go"));
    assert_eq!((outcome.code, outcome.stderr.as_str(), world.read("heard")), (Some(0), "", None));
}
