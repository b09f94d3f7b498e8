//! What the main conversation says to agents that it has started, and plans that it begins by itself.

use super::{init, project, requests, said, streaming};
use crate::common::{call, claude, finish, results, say, tool_results};
use serde_json::{Value, json};

fn agent() -> Value {
    call("Agent", &json!({"description": "look", "prompt": "look at a.rs", "name": "looker"}))
}

#[test]
fn an_agent_that_has_finished_goes_on_when_it_is_told_something() {
    let world = project(json!([
        agent(),
        say("I looked"),
        call("ListAgents", &json!({})),
        call("SendMessage", &json!({"to": "looker", "message": "look at b.rs too"})),
        say("once more"),
        say("once more"),
        say("heard of it"),
    ]));
    let run = streaming(&world, "hi").args(["--tools", "Agent,SendMessage,ListAgents"]);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = tool_results(&outcome);
    assert!(told[1].contains("\"looker\"") && told[1].contains("idle"), "{told:?}");
    assert!(told[2].contains("\"success\":true"), "{told:?}");
    let results = results(&outcome);
    assert_eq!((results.len(), &results[1]["result"]), (2, &json!("heard of it")), "{:?}", outcome.lines);
    // It knows what it was told before.
    let again = requests(&world).into_iter().find(|request| said(request).contains("look at b.rs too")).unwrap();
    let talk = said(&again);
    assert!(talk.contains("look at a.rs") && talk.contains("I looked"), "{talk}");
}

#[test]
fn nobody_is_told_where_there_is_no_such_agent() {
    let world = project(json!([
        call("SendMessage", &json!({"to": "nobody", "message": "hello"})),
        call("SendMessage", &json!({"to": "", "message": "hello"})),
        say("done"),
    ]));
    let outcome = finish(streaming(&world, "hi").args(["--tools", "SendMessage"]));
    let told = tool_results(&outcome);
    assert!(told[0].contains("There is no agent \"nobody\"") && told[1].contains("neither of them empty"), "{told:?}");
}

/// The client answers for a person, so the model may begin to plan by itself.
#[test]
fn a_model_in_an_sdk_session_begins_to_plan_and_hands_in_its_plan() {
    let world = project(json!([
        call("EnterPlanMode", &json!({})),
        call("Write", &json!({"file_path": "$WD/new.txt", "content": "x"})),
        call("ExitPlanMode", &json!({"plan": "write it"})),
        say("planned"),
    ]));
    let allow = json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ",
        "response": {"behavior": "allow"}}});
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--permission-prompt-tool", "stdio", "--permission-mode", "acceptEdits"])
        .prompt("go")
        .wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "ExitPlanMode"}}))
        .send(allow)
        .wait(json!({"type": "result"}))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty(), "{:?} {:?}", outcome.unmet, outcome.lines);
    let tools = init(&outcome)["tools"].clone();
    for name in ["EnterPlanMode", "ExitPlanMode"] {
        assert!(tools.as_array().unwrap().contains(&json!(name)), "{tools}");
    }
    let told = tool_results(&outcome);
    assert!(told[0].contains("Plan mode is on"), "{told:?}");
    assert_eq!(world.read("new.txt"), None, "nothing is written while planning: {told:?}");
    assert!(told[2].contains("approved"), "{told:?}");
    let modes: Vec<Value> = outcome
        .events()
        .into_iter()
        .filter(|event| event["subtype"] == "status" && event["permissionMode"].is_string())
        .map(|event| event["permissionMode"].clone())
        .collect();
    assert_eq!(modes, [json!("plan"), json!("acceptEdits")]);
}

#[test]
fn without_a_client_nobody_begins_to_plan() {
    let world = project(json!([call("ExitPlanMode", &json!({"plan": "x"})), say("ok")]));
    let outcome = finish(streaming(&world, "hi"));
    assert!(!init(&outcome)["tools"].as_array().unwrap().contains(&json!("EnterPlanMode")));
}
