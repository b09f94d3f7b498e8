//! One tool call: what hooks hear of it before, instead and after.

use super::{answer, asked, duplex, heard, notes, on, only, run, said};
use crate::common::{bash, call, claude, finish, say, tool_results, world};
use serde_json::{Value, json};

/// PostToolUse and PostToolUseFailure in two files.
fn after() -> Value {
    json!({"hooks": {
        "PostToolUse": [{"hooks": [notes("after")]}],
        "PostToolUseFailure": [{"hooks": [notes("failed")]}],
    }})
}

#[test]
fn the_agents_own_tools_are_heard_of_like_any_other() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose"});
    let world =
        world(json!([call("Task", &task), say("seen"), call("Skill", &json!({"skill": "greet"})), say("done")]));
    let skill = world.wd().join(".claude/skills/greet");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: greet\ndescription: greets\n---\nSay hello.\n").unwrap();
    let outcome = finish(run(&world, &after(), "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = heard(&world, "after");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        (&told[0]["tool_response"]["status"], &told[0]["tool_input"]["prompt"]),
        (&json!("completed"), &json!("look around"))
    );
    assert_eq!(told[0]["tool_response"]["content"][0]["text"], "seen");
    assert_eq!((&told[1]["tool_name"], &told[1]["tool_response"]["commandName"]), (&json!("Skill"), &json!("greet")));
    assert!(told.iter().all(|told| told["duration_ms"].is_u64() && told["tool_use_id"].is_string()));
    assert!(heard(&world, "failed").is_empty());
}

/// The names that clients match: the Agent tool's older one too.
#[test]
fn an_agent_is_matched_by_either_of_its_names() {
    for matcher in ["Agent", "Task", "^Task$"] {
        let world =
            world(json!([call("Agent", &json!({"description": "look", "prompt": "look"})), say("seen"), say("done")]));
        let hooks = json!({"hooks": {"PostToolUse": [{"matcher": matcher, "hooks": [notes("after")]}]}});
        finish(run(&world, &hooks, "go"));
        assert_eq!(only(&world, "after")["tool_response"]["status"], "completed", "{matcher}");
    }
}

#[test]
fn an_agent_in_the_background_is_heard_of_when_it_is_launched() {
    let task = json!({"description": "look", "prompt": "look", "run_in_background": true});
    let world = world(json!([call("Agent", &task), say("same"), say("same"), say("same")]));
    finish(duplex(&world, &after()).prompt("go").close());
    let told = only(&world, "after");
    assert_eq!(told["tool_response"]["status"], "async_launched", "{told}");
    assert!(told["tool_response"]["agentId"].is_string() && told["tool_response"]["outputFile"].is_string());
}

#[test]
fn a_call_that_never_reached_its_tool_is_not_heard_of_after() {
    let task = json!({"description": "look", "prompt": "look"});
    let world = world(json!([
        call("Agent", &task),
        call("Agent", &json!({"description": "look"})),
        call("Skill", &json!({"skill": "unheard"})),
        bash("echo no"),
        say("done")
    ]));
    let mut hooks = after();
    hooks["hooks"]["PreToolUse"] = json!([{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]);
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!(tool_results(&outcome).len(), 4);
    assert!(heard(&world, "after").is_empty() && heard(&world, "failed").is_empty());
}

#[test]
fn what_failed_is_heard_of_with_its_error() {
    let world = world(json!([bash("echo broken; exit 3"), say("done")]));
    finish(run(&world, &after(), "go"));
    let told = only(&world, "failed");
    assert!(told["error"].as_str().unwrap().contains("broken"), "{told}");
    assert_eq!((&told["is_interrupt"], &told["tool_name"]), (&json!(false), &json!("Bash")));
}

#[test]
fn hooks_see_the_input_that_ran_not_the_one_that_was_asked_for() {
    let world = world(json!([bash("echo first"), say("done")]));
    let changed =
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo second"}}});
    let mut hooks = after();
    hooks["hooks"]["PreToolUse"] = json!([{"hooks": [{"type": "command", "command": format!("echo '{changed}'")}]}]);
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!(tool_results(&outcome), ["second"]);
    assert_eq!(only(&world, "after")["tool_input"]["command"], "echo second");
}

#[test]
fn a_denied_call_is_told_with_its_reason_and_may_be_tried_again() {
    for (retry, again) in [("true", true), ("false", false)] {
        let world = world(json!([bash("touch made"), say("done")]));
        let output = format!("{{\"hookSpecificOutput\":{{\"hookEventName\":\"PermissionDenied\",\"retry\":{retry}}}}}");
        let hooks = json!({"hooks": {"PermissionDenied": [
            {"matcher": "Bash", "hooks": [notes("denied"), {"type": "command", "command": format!("echo '{output}'")}]},
            {"matcher": "Read", "hooks": [notes("other")]},
        ]}});
        let run = claude(&world).args(["-p", "go", "--settings", &hooks.to_string(), "--permission-mode", "dontAsk"]);
        finish(run.args(["--verbose", "--output-format", "stream-json"]).close());
        let told = only(&world, "denied");
        assert_eq!((&told["tool_name"], &told["tool_input"]["command"]), (&json!("Bash"), &json!("touch made")));
        assert!(!told["reason"].as_str().unwrap().is_empty() && told["tool_use_id"].is_string());
        assert_eq!(said(&world, 1).contains("try this call again"), again);
        assert!(heard(&world, "other").is_empty() && world.read("made").is_none());
    }
}

#[test]
fn somebody_is_notified_when_the_client_is_asked() {
    let world = world(json!([bash("touch made"), say("done")]));
    let hooks = json!({"hooks": {"Notification": [
        {"matcher": "permission_prompt", "hooks": [notes("notified"), {"type": "command", "command": "exit 2"}]},
        {"matcher": "idle_prompt", "hooks": [notes("other")]},
    ]}});
    let run = duplex(&world, &hooks)
        .args(["--permission-prompt-tool", "stdio", "--include-hook-events"])
        .prompt("go")
        .wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool"}}))
        .send(answer(&json!({"behavior": "allow", "updatedInput": {"command": "touch made"}})))
        .wait(json!({"type": "result"}))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty() && world.read("made").is_some(), "{:?}", outcome.lines);
    let told = only(&world, "notified");
    assert_eq!(told["notification_type"], "permission_prompt");
    assert!(told["message"].as_str().unwrap().contains("Bash"));
    assert!(heard(&world, "other").is_empty());
    assert!(!outcome.lines.iter().any(|line| line.contains("hook_started")), "Notification is never shown");
}

#[test]
fn a_look_ahead_matcher_picks_all_but_some() {
    let world = world(json!([
        call("Glob", &json!({"pattern": "*"})),
        bash("echo one"),
        call("Grep", &json!({"pattern": "x"})),
        say("done")
    ]));
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "^(?!(Glob|Grep|Read)$).*", "hooks": [notes("before")]}]}});
    finish(run(&world, &hooks, "go"));
    assert_eq!((only(&world, "before")["tool_name"].as_str(), asked(&world)), (Some("Bash"), 4));
}

#[test]
fn hooks_that_match_run_at_the_same_time() {
    let world = world(json!([bash("echo one"), say("done")]));
    // Each waits for the other: one after another they would never end.
    let meet = |own: &str, other: &str| json!({"type": "command", "timeout": 30, "command": format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done")});
    let hooks = on("PreToolUse", &json!([meet("a", "b"), meet("b", "a")]));
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!((outcome.code, tool_results(&outcome)), (Some(0), vec!["one".to_owned()]));
}

#[test]
fn a_hook_that_takes_too_long_is_ended_and_decides_nothing() {
    let world = world(json!([bash("echo one"), say("done")]));
    let slow = json!([{"type": "command", "command": "sleep 300; exit 2", "timeout": 0.2}]);
    let outcome = finish(run(&world, &on("PreToolUse", &slow), "go").args(["--include-hook-events"]));
    assert_eq!(tool_results(&outcome), ["one"]);
    let response = outcome.events().into_iter().find(|event| event["subtype"] == "hook_response").unwrap();
    assert_eq!((&response["outcome"], &response["hook_event"]), (&json!("cancelled"), &json!("PreToolUse")));
    assert!(!outcome.lingered);
}
