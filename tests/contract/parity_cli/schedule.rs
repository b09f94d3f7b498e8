//! Prompts that the model sets itself for later.

use crate::common::{self, call, claude, finish, results, say, tool_results};
use serde_json::json;
use std::time::Duration;
use testkit::Run;

const TOOLS: &str = "ScheduleWakeup,CronCreate,CronList,CronDelete";

fn streaming(world: &testkit::World) -> Run {
    claude(world)
        .args(["-p", "go", "--output-format", "stream-json", "--verbose", "--tools", TOOLS])
        .env("RALPH_TEST_WAKEUP_MS", "50")
}

#[test]
fn the_process_stays_for_a_wakeup_and_begins_a_turn_with_its_prompt() {
    let world = common::world(json!([
        call("ScheduleWakeup", &json!({"delaySeconds": 0, "prompt": "look again", "reason": "a build"})),
        say("waiting"),
        say("it is done"),
    ]));
    let outcome = finish(streaming(&world).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let told = events.iter().find(|event| event["tool_use_result"]["wasClamped"] == true).expect("the result");
    assert!(told["tool_use_result"]["scheduledFor"].is_number());
    let results = results(&outcome);
    assert_eq!(results.len(), 2, "{:?}", outcome.lines);
    assert_eq!((&results[0]["result"], &results[1]["result"]), (&json!("waiting"), &json!("it is done")));
    assert!(world.mock().requests()[2].body["messages"].to_string().contains("look again"));
}

#[test]
fn a_wakeup_that_was_taken_back_and_a_job_hold_nobody() {
    let world = common::world(json!([
        call("CronCreate", &json!({"cron": "0 0 1 1 *", "prompt": "a new year"})),
        call("CronList", &json!({})),
        call("ScheduleWakeup", &json!({"delaySeconds": 3600, "prompt": "later"})),
        call("ScheduleWakeup", &json!({"stop": true})),
        call("CronCreate", &json!({"cron": "every day", "prompt": "x"})),
        call("ScheduleWakeup", &json!({"delaySeconds": 60})),
        call("CronDelete", &json!({"id": "cron1"})),
        say("done"),
    ]));
    let outcome = finish(streaming(&world).deadline(Duration::from_secs(30)).close());
    assert_eq!((outcome.code, results(&outcome).len()), (Some(0), 1), "{}", outcome.stderr);
    let told = tool_results(&outcome);
    assert!(told[1].contains("a new year"), "{told:?}");
    assert!(told[4].contains("cannot be read") && told[5].contains("needs"), "{told:?}");
    assert!(told[6].contains("deleted"), "{told:?}");
}

/// Nothing is left behind by somebody who does not want to wait.
#[test]
fn a_signal_ends_the_waiting_for_a_wakeup() {
    let world = common::world(json!([
        call("ScheduleWakeup", &json!({"delaySeconds": 3600, "prompt": "later"})),
        say("waiting"),
    ]));
    let outcome = finish(streaming(&world).wait(json!({"type": "result"})).signal(2));
    assert!(!outcome.lingered, "{}", outcome.stderr);
    assert_eq!((outcome.code, results(&outcome).len()), (Some(130), 1));
}
