//! Agents: those of files, what they start with, and those that nobody waits for.

use super::{described, init, project, requests, said, streaming, system};
use crate::common::{bash, call, claude, finish, results, say, tool_results};
use serde_json::{Value, json};

fn review(background: bool) -> Value {
    let input = json!({"description": "review it", "prompt": "look at a.rs", "subagent_type": "reviewer", "run_in_background": background});
    call("Agent", &input)
}

/// A client that talks on.
fn talking(world: &testkit::World) -> testkit::Run {
    claude(world).args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
}

#[test]
fn an_agent_of_a_file_works_with_its_prompt_tools_model_and_skills() {
    let world = project(json!([review(false), say("fine"), say("done")]));
    let outcome = finish(streaming(&world, "hi"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(init(&outcome)["agents"].as_array().unwrap().contains(&json!("reviewer")));
    let requests = requests(&world);
    assert!(described(&requests[0], "Agent").contains("- reviewer: reviews changes"));
    let tools: Vec<&str> =
        requests[1]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(tools, ["Grep", "Read"]);
    assert!(requests[1]["model"].to_string().contains("haiku"));
    assert!(system(&requests[1]).contains("You review changes and nothing else."));
    let said = said(&requests[1]);
    let (skill, task) = (said.find("Greet with the words in").expect("the skill"), said.find("look at a.rs").unwrap());
    assert!(skill < task && said.contains("Memory of the project"), "{said}");
}

/// Whichever of the two asks first gets the first of the remaining turns, so both answer the same.
#[test]
fn an_agent_in_the_background_is_waited_for_at_the_end_and_its_answer_comes_back() {
    let world = project(json!([review(true), say("all good"), say("all good"), say("heard of it")]));
    let outcome = finish(talking(&world).prompt("hi").close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let position = |wanted: &dyn Fn(&Value) -> bool| events.iter().position(wanted).expect("the event");
    let started = position(&|event| event["subtype"] == "task_started");
    assert_eq!(events[started]["is_backgrounded"], json!(true));
    assert_eq!(
        (&events[started]["task_type"], &events[started]["subagent_type"]),
        (&json!("local_agent"), &json!("reviewer"))
    );
    assert_eq!(events.iter().filter(|event| event["subtype"] == "task_started").count(), 1);
    let launched = position(&|event| event["tool_use_result"]["status"] == "async_launched");
    assert!(started < launched && tool_results(&outcome)[0].contains("is launched"));
    let finished = position(&|event| event["subtype"] == "task_notification");
    assert_eq!(events[finished]["status"], "completed");
    assert_eq!(events[finished]["task_id"], events[started]["task_id"]);
    let results = results(&outcome);
    assert_eq!((results.len(), &results[1]["result"]), (2, &json!("heard of it")));
    assert_eq!(results[1]["origin"], json!({"kind": "task-notification"}));
    let last = said(requests(&world).last().unwrap());
    assert!(last.contains("<result>all good"), "{last}");
}

/// Both the conversation and its agent run a command that takes for ever, whoever asks first.
#[test]
fn an_interrupt_leaves_the_background_alone_and_every_agent_ends_on_the_wire() {
    let task = json!({"description": "wait", "prompt": "wait", "run_in_background": true});
    let world = project(json!([call("Agent", &task), bash("sleep 300"), bash("sleep 300")]));
    let sleeping = |parent: bool| json!({"type": "assistant", "message": {"content": [{"name": "Bash"}]}, "parent_tool_use_id": if parent { json!("toolu_000001_0") } else { Value::Null }});
    let run = talking(&world)
        .args(["--dangerously-skip-permissions"])
        .env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1")
        .env("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "300")
        .prompt("go")
        .wait(sleeping(true))
        .send(json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}))
        .wait(json!({"type": "result"}))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty() && !outcome.lingered, "{:?}", outcome.unmet);
    let events = outcome.events();
    let result = events.iter().position(|event| event["type"] == "result").unwrap();
    let ended = events.iter().position(|event| event["subtype"] == "task_notification").expect("it ended");
    assert!(result < ended, "the interrupt reached the agent");
    assert_eq!(events[ended]["status"], "stopped");
    let last = events.iter().rfind(|event| event["subtype"] == "session_state_changed").unwrap();
    assert_eq!(last["state"], "idle");
}

#[test]
fn where_background_tasks_are_off_the_agent_is_waited_for() {
    let world = project(json!([review(true), say("fine"), say("done")]));
    let off = |run: testkit::Run| run.env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    let outcome = finish(off(talking(&world).prompt("hi").close()));
    assert!(tool_results(&outcome)[0].starts_with("fine"), "{:?}", tool_results(&outcome));
    assert_eq!(results(&outcome).len(), 1);
}

/// The agent works on after the first result; its end begins a turn of its own, and both turns have a result.
#[test]
fn a_caller_with_one_prompt_gets_a_second_result_when_its_agent_has_ended() {
    let world = project(json!([review(true), say("all good"), say("all good"), say("heard of it")]));
    let outcome = finish(streaming(&world, "hi"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let position = |wanted: &dyn Fn(&Value) -> bool| events.iter().position(wanted).expect("the event");
    let launched = position(&|event| event["tool_use_result"]["status"] == "async_launched");
    let first = position(&|event| event["type"] == "result");
    let ended = position(&|event| event["subtype"] == "task_notification");
    assert!(launched < first && launched < ended);
    let results = results(&outcome);
    assert_eq!((results.len(), &results[1]["result"]), (2, &json!("heard of it")));
    assert_eq!(results[1]["origin"], json!({"kind": "task-notification"}));
    let sets: Vec<usize> = events
        .iter()
        .filter(|event| event["subtype"] == "background_tasks_changed")
        .map(|event| event["tasks"].as_array().unwrap().len())
        .collect();
    assert_eq!(sets, [1, 0], "who runs is told when it begins and when it ends");
    let updated = events.iter().find(|event| event["subtype"] == "task_updated").unwrap();
    assert_eq!(updated["patch"]["status"], "completed");
}

#[test]
fn a_caller_that_reads_one_object_gets_the_last_result() {
    let world = project(json!([review(true), say("all good"), say("all good"), say("heard of it")]));
    let outcome = finish(claude(&world).args(["-p", "hi", "--output-format", "json"]));
    assert_eq!((outcome.code, outcome.lines.len()), (Some(0), 1), "{:?}", outcome.lines);
    let result: Value = serde_json::from_str(&outcome.lines[0]).unwrap();
    assert_eq!(result["result"], "heard of it");
}

#[test]
fn a_signal_ends_agents_in_the_background_too() {
    let task = json!({"description": "wait", "prompt": "wait", "run_in_background": true});
    let world = project(json!([call("Agent", &task), bash("sleep 302"), bash("sleep 302")]));
    let run = streaming(&world, "go")
        .args(["--dangerously-skip-permissions"])
        .wait(json!({"type": "assistant", "message": {"content": [{"name": "Bash"}]}, "parent_tool_use_id": "toolu_000001_0"}))
        .signal(2);
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty() && !outcome.lingered, "{:?}", outcome.unmet);
    assert_eq!(outcome.code, Some(130));
    let ended = outcome.events().into_iter().find(|event| event["subtype"] == "task_notification").expect("it ended");
    assert_eq!(ended["status"], "stopped");
}

fn question() -> Value {
    json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]})
}

#[test]
fn a_question_goes_to_the_client_and_its_answer_to_the_model() {
    let world = project(json!([call("AskUserQuestion", &question()), say("red it is")]));
    let mut answered = question();
    answered["answers"] = json!({"Which colour?": "Red"});
    let run = talking(&world)
        .args(["--permission-prompt-tool", "stdio", "--dangerously-skip-permissions"])
        .prompt("go")
        .wait(
            json!({"type": "control_request", "request": {"subtype": "can_use_tool", "tool_name": "AskUserQuestion"}}),
        )
        .send(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ",
            "response": {"behavior": "allow", "updatedInput": answered}}}))
        .wait(json!({"type": "result"}))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.unmet);
    assert_eq!(tool_results(&outcome), ["The user answered:\nWhich colour?: Red"]);
    assert!(said(&requests(&world)[1]).contains("Which colour?: Red"));
}

#[test]
fn without_a_client_there_is_no_asking() {
    let world = project(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hi"));
    assert!(!init(&outcome)["tools"].as_array().unwrap().contains(&json!("AskUserQuestion")));
}

#[test]
fn a_session_can_run_as_an_agent_with_its_model() {
    for (flags, model) in
        [(&["--agent", "reviewer"][..], "haiku"), (&["--agent", "reviewer", "--model", "opus"], "opus")]
    {
        let world = project(json!([say("ok")]));
        finish(streaming(&world, "hi").args(flags.iter().copied()));
        let request = &requests(&world)[0];
        assert!(request["model"].to_string().contains(model), "{}", request["model"]);
        assert!(system(request).starts_with("You review changes and nothing else."));
    }
}

#[test]
fn a_client_can_do_without_our_agents() {
    let world = project(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hi").env("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1"));
    assert_eq!(init(&outcome)["agents"], json!(["reviewer"]));
}

fn planning(world: &testkit::World, answer: &Value) -> testkit::Outcome {
    let run = talking(world)
        .args(["--permission-prompt-tool", "stdio", "--permission-mode", "plan"])
        .prompt("go")
        .wait(json!({"type": "control_request", "request": {"tool_name": "ExitPlanMode", "input": {"plan": "1. do it"}}}))
        .send(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ", "response": answer}}))
        .wait(json!({"type": "result"}));
    finish(run.close())
}

#[test]
fn an_approved_plan_is_carried_out_in_the_mode_that_the_client_chose() {
    let plan = call("ExitPlanMode", &json!({"plan": "1. do it"}));
    let world = project(json!([plan, bash("touch done"), say("done")]));
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let outcome = planning(&world, &json!({"behavior": "allow", "updatedPermissions": mode}));
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.unmet);
    assert!(tool_results(&outcome)[0].contains("approved"), "{:?}", tool_results(&outcome));
    assert!(
        outcome.events().iter().any(|event| event["subtype"] == "status" && event["permissionMode"] == "acceptEdits")
    );
    assert!(world.wd().join("done").exists(), "{:?}", tool_results(&outcome));
    let world = project(json!([plan, say("thinking")]));
    let outcome = planning(&world, &json!({"behavior": "deny", "message": "think again"}));
    assert_eq!(tool_results(&outcome), ["think again"]);
    let changed = |event: &Value| event["subtype"] == "status" && event["permissionMode"].is_string();
    assert!(!outcome.events().iter().any(changed), "it still plans");
}
