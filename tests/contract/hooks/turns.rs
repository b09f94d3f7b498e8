//! A batch of calls ends, the model wants to stop, a turn fails.

use super::{asked, heard, notes, on, only, run, said};
use crate::common::{bash, call, finish, say, world};
use serde_json::{Value, json};

#[test]
fn a_failed_turn_is_told_with_its_error_and_nothing_can_be_decided() {
    let limit = json!({"status": 429, "error": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}});
    let world = world(json!([limit]));
    let hooks = json!({"hooks": {"StopFailure": [
        {"matcher": "rate_limit", "hooks": [notes("failed"), {"type": "command", "command": "exit 2"}]},
        {"matcher": "server_error", "hooks": [notes("other")]},
    ], "Stop": [{"hooks": [notes("stopped")]}]}});
    let outcome = finish(run(&world, &hooks, "go").env("CLAUDE_CODE_MAX_RETRIES", "0"));
    assert_eq!(outcome.code, Some(1));
    let told = only(&world, "failed");
    assert_eq!((&told["hook_event_name"], &told["error"]), (&json!("StopFailure"), &json!("rate_limit")));
    assert!(told["error_details"].as_str().unwrap().contains("slow down"), "{told}");
    assert!(heard(&world, "other").is_empty() && heard(&world, "stopped").is_empty());
    assert_eq!(asked(&world), 1);
}

fn two_calls() -> Value {
    json!({"content": [
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo one"}},
        {"type": "tool_use", "name": "Bash", "input": {"command": "false"}},
    ]})
}

#[test]
fn a_batch_is_told_once_with_every_call_and_its_answer() {
    let world = world(json!([two_calls(), say("done")]));
    let context =
        json!({"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": "the build is green"}});
    let hooks =
        on("PostToolBatch", &json!([notes("batch"), {"type": "command", "command": format!("echo '{context}'")}]));
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = only(&world, "batch");
    let calls = told["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{told}");
    assert_eq!((&calls[0]["tool_name"], &calls[0]["tool_input"]["command"]), (&json!("Bash"), &json!("echo one")));
    assert_eq!(calls[0]["tool_response"]["stdout"], "one");
    assert!(calls[1]["tool_use_id"].is_string() && calls[1]["tool_response"].is_string(), "{told}");
    assert!(said(&world, 1).contains("the build is green"));
}

#[test]
fn a_batch_that_is_blocked_ends_the_run() {
    for command in ["echo enough >&2; exit 2", "echo '{\"decision\":\"block\",\"reason\":\"enough\"}'"] {
        let world = world(json!([bash("echo one"), say("never")]));
        let outcome =
            finish(run(&world, &on("PostToolBatch", &json!([{"type": "command", "command": command}])), "go"));
        let result = outcome.result().unwrap();
        assert_eq!((&result["terminal_reason"], &result["is_error"]), (&json!("hook_stopped"), &json!(false)));
        assert_eq!(asked(&world), 1, "{command}");
    }
}

#[test]
fn a_stop_hook_that_never_lets_go_is_bounded() {
    let world = world(json!([say("1"), say("2"), say("3"), say("never")]));
    let hooks = on("Stop", &json!([notes("stop"), {"type": "command", "command": "echo more >&2; exit 2"}]));
    let outcome = finish(run(&world, &hooks, "go").env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "2"));
    assert_eq!((outcome.code, asked(&world)), (Some(0), 3));
    assert!(outcome.stderr.contains("Stop hooks blocked 2 times"), "{}", outcome.stderr);
    let told = heard(&world, "stop");
    let active: Vec<&Value> = told.iter().map(|stop| &stop["stop_hook_active"]).collect();
    assert_eq!(active, [&json!(false), &json!(true), &json!(true)]);
    assert_eq!((&told[1]["last_assistant_message"], &told[1]["session_crons"]), (&json!("2"), &json!([])));
}

#[test]
fn a_subagent_that_may_not_stop_is_bounded_too() {
    let task = json!({"description": "look", "prompt": "look"});
    let turns = json!([call("Agent", &task), say("a"), say("b"), say("c"), say("done")]);
    let world = world(turns);
    let hooks = json!({"hooks": {"SubagentStop": [{"matcher": "general-purpose", "hooks": [notes("stop"), {"type": "command", "command": "echo more >&2; exit 2"}]}]}});
    let outcome = finish(run(&world, &hooks, "go").env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "2"));
    assert_eq!((outcome.code, asked(&world)), (Some(0), 5), "{}", outcome.stderr);
    let told = heard(&world, "stop");
    assert_eq!(told.len(), 3);
    let transcript = told[0]["agent_transcript_path"].as_str().unwrap();
    assert!(std::path::Path::new(transcript).is_file(), "{transcript}");
    assert_eq!(told[0]["agent_type"], "general-purpose");
    assert_eq!(outcome.result().unwrap()["result"], "done");
}

#[test]
fn a_stop_hook_knows_what_still_runs() {
    let background = call("Bash", &json!({"command": "sleep 60", "run_in_background": true, "description": "wait"}));
    let world = world(json!([background, say("done")]));
    finish(run(&world, &on("Stop", &json!([notes("stop")])), "go").env("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "50"));
    let tasks = only(&world, "stop")["background_tasks"].clone();
    assert_eq!((&tasks[0]["type"], &tasks[0]["status"]), (&json!("shell"), &json!("running")), "{tasks}");
    assert_eq!(tasks[0]["command"], "sleep 60");
}

#[test]
fn continue_false_stops_the_run_at_any_of_these_events() {
    for event in ["PostToolUse", "PostToolBatch", "Stop", "PreToolUse"] {
        let world = world(json!([bash("echo one"), say("two"), say("never")]));
        let command = "echo '{\"continue\":false,\"stopReason\":\"that is all\"}'";
        let outcome = finish(run(&world, &on(event, &json!([{"type": "command", "command": command}])), "go"));
        assert_eq!(outcome.result().unwrap()["terminal_reason"], "hook_stopped", "{event}");
        assert_eq!(asked(&world), if event == "Stop" { 2 } else { 1 }, "{event}");
    }
}
