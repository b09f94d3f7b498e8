//! Agents that a call neither wants in the background nor waits for: they go on in the background unless they are quick.
//!
//! The first request of an agent is always before the next one of the conversation, which waits for it briefly: the turns of a
//! script are given out in this order.

use super::{add, project, requests, said, streaming};
use crate::common::{bash, call, claude, finish, results, say, tool_results};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use testkit::{Outcome, World};

/// Longer than the conversation waits.
const LONG_MS: u64 = 3500;

fn agent(fields: &Value) -> Value {
    let mut input = json!({"description": "look", "prompt": "look at a.rs", "name": "looker"});
    for (name, value) in fields.as_object().unwrap() {
        input[name] = value.clone();
    }
    call("Agent", &input)
}

/// An answer that takes its time.
fn slow(text: &str) -> Value {
    let mut turn = say(text);
    turn["delay_ms"] = json!(LONG_MS);
    turn
}

/// An agent that takes long, the conversation that goes on meanwhile, and the turn that its end begins.
fn left_alone() -> World {
    project(json!([agent(&json!({})), slow("inner"), say("it is at work"), say("heard of it")]))
}

fn position(events: &[Value], wanted: impl Fn(&Value) -> bool) -> usize {
    events.iter().position(wanted).unwrap_or_else(|| panic!("not there: {events:#?}"))
}

#[test]
fn an_agent_that_takes_long_goes_on_in_the_background_and_a_second_result_follows() {
    let world = left_alone();
    let outcome = finish(streaming(&world, "hi"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let started = position(&events, |event| event["subtype"] == "task_started");
    assert!(events[started]["run_id"].is_string(), "{}", events[started]);
    let moved = position(&events, |event| event["patch"]["is_backgrounded"] == true);
    assert_eq!(events[moved]["task_id"], events[started]["task_id"]);
    let launched = position(&events, |event| event["tool_use_result"]["status"] == "async_launched");
    let first = position(&events, |event| event["type"] == "result");
    let ended = position(&events, |event| event["subtype"] == "task_notification");
    assert!(started < moved && moved < launched && launched < first && first < ended, "{events:#?}");
    assert_eq!(events[launched]["tool_use_result"]["agentId"], events[started]["task_id"]);
    let results = results(&outcome);
    let texts: Vec<&Value> = results.iter().map(|result| &result["result"]).collect();
    assert_eq!(texts, ["it is at work", "heard of it"]);
    assert_eq!(results[1]["origin"], json!({"kind": "task-notification"}));
    let stats = &results[0]["subagent_stats"];
    assert_eq!((&stats["requested"]["unset"], &stats["started_in_background"]), (&json!(1), &json!(1)), "{stats}");
    let sets = events.iter().filter(|event| event["subtype"] == "background_tasks_changed");
    let sets: Vec<usize> = sets.map(|event| event["tasks"].as_array().unwrap().len()).collect();
    assert_eq!(sets, [1, 0]);
    let last = said(requests(&world).last().unwrap());
    assert!(last.contains("<result>inner"), "{last}");
}

/// A script that reads what a run prints gets one answer, and it is the one that knows of the agent's work.
#[test]
fn a_caller_that_reads_text_or_one_object_gets_the_answer_that_has_the_agents_work() {
    for format in ["text", "json"] {
        let world = left_alone();
        let outcome = finish(claude(&world).args(["-p", "hi", "--output-format", format]).close());
        assert_eq!((outcome.code, outcome.lines.len()), (Some(0), 1), "{format}: {:?}", outcome.lines);
        let answer = &outcome.lines[0];
        let object: Value = serde_json::from_str(answer).unwrap_or_default();
        assert!(answer == "heard of it" || object["result"] == "heard of it", "{format}: {answer}");
    }
}

fn waited_for(outcome: &Outcome) {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(tool_results(outcome)[0].starts_with("inner"), "{:?}", tool_results(outcome));
    assert_eq!(results(outcome).len(), 1);
    assert!(!outcome.events().iter().any(|event| event["subtype"] == "background_tasks_changed"));
}

fn answered(fields: &Value) -> World {
    project(json!([agent(fields), slow("inner"), say("done")]))
}

#[test]
fn a_call_or_a_definition_that_says_no_waits_for_the_agent() {
    let world = answered(&json!({"run_in_background": false}));
    waited_for(&finish(streaming(&world, "hi")));
    let world = answered(&json!({"subagent_type": "patient"}));
    let definition = "---\nname: patient\ndescription: is waited for\nbackground: false\n---\nBe patient.";
    add(&world, ".claude/agents/patient.md", definition);
    waited_for(&finish(streaming(&world, "hi")));
}

/// Turns that ends of agents begin are counted anew, so a limit of turns would be none.
#[test]
fn with_a_limit_of_turns_an_agent_is_waited_for() {
    let world = answered(&json!({}));
    waited_for(&finish(streaming(&world, "hi").args(["--max-turns", "2"])));
}

#[test]
fn what_an_agent_in_the_background_costs_counts_against_the_budget() {
    let mut dear = slow("inner");
    dear["usage"] = json!({"output_tokens": 1_000_000});
    let world = project(json!([agent(&json!({})), dear, say("it is at work"), say("never asked")]));
    let outcome = finish(streaming(&world, "hi").args(["--max-budget-usd", "5"]));
    let results = results(&outcome);
    let subtypes: Vec<&Value> = results.iter().map(|result| &result["subtype"]).collect();
    assert_eq!(subtypes, ["success", "error_max_budget_usd"], "{results:#?}");
    assert_eq!((outcome.code, requests(&world).len()), (Some(1), 3));
}

/// A client may send an agent to the background itself, also one that its call waits for.
#[test]
fn a_client_leaves_an_agent_alone_that_was_to_be_waited_for() {
    let fields = json!({"run_in_background": false});
    let turns = json!([agent(&fields), bash("sleep 3"), say("it is at work"), say("inner"), say("heard of it")]);
    let world = project(turns);
    let request = json!({"type": "control_request", "request_id": "b", "request": {"subtype": "background_tasks", "tool_use_id": "toolu_000001_0"}});
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--dangerously-skip-permissions"])
        .prompt("go")
        .wait(json!({"type": "assistant", "message": {"content": [{"name": "Bash"}]}, "parent_tool_use_id": "toolu_000001_0"}))
        .send(request)
        .wait(json!({"type": "result"}))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.unmet);
    let texts: Vec<Value> = results(&outcome).iter().map(|result| result["result"].clone()).collect();
    assert_eq!(texts, ["it is at work", "heard of it"], "{:#?}", outcome.lines);
}

/// The script cannot know the agent's id: a hook finds it in the transcript and puts it in.
fn knowing_the_id(turns: Value) -> World {
    let world = project(turns);
    add(
        &world,
        "find-id",
        "#!/bin/sh\n\
         file=$(sed -n 's/.*\"transcript_path\":\"\\([^\"]*\\)\".*/\\1/p')\n\
         id=$(sed -n 's/.*\"agentId\":\"\\([^\"]*\\)\".*/\\1/p' \"$file\" | head -n 1)\n\
         printf '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\"updatedInput\":{\"task_id\":\"%s\"}}}' \"$id\"\n",
    );
    std::fs::set_permissions(world.wd().join("find-id"), std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

fn with_ids(world: &World) -> testkit::Run {
    let program = world.wd().join("find-id").display().to_string();
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "TaskOutput|TaskStop", "hooks": [{"type": "command", "command": program}]}]}});
    let tools = "Agent,Bash,TaskOutput,TaskStop,SendMessage";
    streaming(world, "hi").args(["--settings", &hooks.to_string(), "--tools", tools, "--dangerously-skip-permissions"])
}

#[test]
fn task_output_waits_for_an_agent_in_the_background_and_has_its_answer() {
    let asked = call("TaskOutput", &json!({"task_id": "unknown"}));
    let world = knowing_the_id(json!([agent(&json!({})), slow("inner"), asked, say("seen"), say("heard of it")]));
    let outcome = finish(with_ids(&world));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = tool_results(&outcome);
    assert!(told[1].contains("completed") && told[1].contains("inner"), "{told:?}");
    let shown = outcome.events().into_iter().find(|event| event["tool_use_result"]["task"].is_object()).unwrap();
    let task = &shown["tool_use_result"]["task"];
    assert_eq!((&task["task_type"], &task["status"]), (&json!("local_agent"), &json!("completed")), "{task}");
}

#[test]
fn an_agent_that_task_stop_has_stopped_is_gone_and_cannot_be_spoken_to() {
    let world = knowing_the_id(json!([
        agent(&json!({})),
        bash("echo $$ > pid; exec sleep 300"),
        call("TaskStop", &json!({"task_id": "unknown"})),
        call("SendMessage", &json!({"to": "looker", "message": "go on"})),
        say("stopped"),
    ]));
    let outcome = finish(with_ids(&world));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let ended = position(&events, |event| event["subtype"] == "task_notification");
    assert_eq!(events[ended]["status"], "stopped");
    let told = tool_results(&outcome);
    assert!(
        told.last().unwrap().contains("was stopped") && told.last().unwrap().contains("Start a new one"),
        "{told:?}"
    );
    assert_eq!(results(&outcome).len(), 1, "nobody is told of what was stopped on purpose");
    let pid = world.read("pid").expect("it ran");
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "its command is still there");
}

/// The agent and the conversation ask at the same time after that, so both get the same answer.
#[test]
fn a_busy_agent_reads_a_message_before_its_next_step() {
    let world = project(json!([
        agent(&json!({})),
        bash("until [ -e go ]; do sleep 0.05; done; echo went on"),
        call("SendMessage", &json!({"to": "looker", "message": "look at b.rs too"})),
        bash("touch go"),
        say("both"),
        say("both"),
        say("heard of it"),
    ]));
    let run = streaming(&world, "hi").args(["--tools", "Agent,Bash,SendMessage", "--dangerously-skip-permissions"]);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(tool_results(&outcome).iter().any(|told| told.contains("before its next step")), "{:?}", outcome.lines);
    let is_agents = |request: &Value| said(request).contains("went on") && said(request).contains("look at a.rs");
    let asked: Vec<Value> = requests(&world).into_iter().filter(|request| is_agents(request)).collect();
    let talk = said(asked.first().expect("the agent asked again"));
    assert!(talk.find("went on") < talk.find("look at b.rs too"), "{talk}");
    assert_eq!(results(&outcome).last().unwrap()["result"], "heard of it");
}

#[test]
fn an_agent_that_has_ended_in_the_background_goes_on_when_it_is_told_something() {
    let world = project(json!([
        agent(&json!({})),
        slow("I looked"),
        say("waiting"),
        call("SendMessage", &json!({"to": "looker", "message": "look at b.rs too"})),
        say("once more"),
        say("once more"),
        say("heard of it"),
    ]));
    let outcome = finish(streaming(&world, "hi").args(["--tools", "Agent,SendMessage"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let texts: Vec<Value> = results(&outcome).iter().map(|result| result["result"].clone()).collect();
    assert_eq!(texts, ["waiting", "once more", "heard of it"], "{:?}", outcome.lines);
    let again = requests(&world).into_iter().find(|request| {
        let talk = said(request);
        talk.contains("look at b.rs too") && talk.contains("I looked") && !talk.contains("toolu_")
    });
    assert!(again.is_some(), "it knows what it was told before");
}
