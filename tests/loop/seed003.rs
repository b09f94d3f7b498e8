//! Seed 003: whatever an agent answers becomes one universal shape.

use crate::world::{PROMISE, called, folder, looped, of, outcomes, told, verdict};
use serde_json::json;
use std::time::Duration;

#[test]
fn seed_003_plain_text_and_one_json_object_are_answers() {
    for (script, format) in [
        (format!("work; echo 'All is done.'; echo '{PROMISE}'"), "text"),
        (format!("work; printf '{{\\n  \"result\": \"{PROMISE}\",\\n  \"session_id\": \"s\"\\n}}\\n'"), "json"),
        (format!("work; say x; result '{PROMISE}'"), "args"),
    ] {
        let world = folder();
        let (outcome, events) = told(looped(&world, &script, &["--output-format", format]));
        assert_eq!(
            (outcome.code, outcomes(&events)),
            (Some(0), vec!["done".to_owned()]),
            "{format} {:?}",
            outcome.lines
        );
        let args = std::fs::read_to_string(world.home().join("args")).unwrap();
        assert!(args.contains("# Build it"), "the prompt is an argument: {args}");
    }
}

#[test]
fn seed_003_events_of_older_agents_are_understood() {
    let world = folder();
    let script = format!(
        r#"echo '{{"type":"assistant","message":{{"content":[{{"type":"text","text":"hello"}}]}}}}'
        echo '{{"type":"tool_use","tool_use":{{"id":"t1","name":"Read","input":{{"file_path":"a"}}}}}}'
        echo '{{"type":"tool_result","tool_use_id":"t1","content":"gone","is_error":true}}'
        echo '{{"type":"result","result":"{PROMISE}","session_id":"abc123"}}'"#
    );
    let (outcome, events) = told(looped(&world, &script, &["1"]));
    assert_eq!(outcome.code, Some(0), "{} {:?}", outcome.stderr, outcome.lines);
    assert_eq!(of(&events, "tool_call")[0]["name"], "Read");
    assert_eq!(of(&events, "tool_result")[0]["is_error"], true);
    assert_eq!(of(&events, "iteration_ended")[0]["receipt"]["session"], "abc123");
}

#[test]
fn seed_003_a_structured_output_is_taken_with_the_answer() {
    let world = folder();
    let script = r#"printf '{"result": "x", "session_id": "s", "structured_output": {"summary": "DONE"}}\n'"#;
    let (outcome, events) = told(looped(&world, script, &["1", "--output-format", "json", "--structured"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{:?}", outcome.lines);
}

#[test]
fn seed_003_permission_modes_are_flags() {
    for (mode, flag) in [
        ("bypass", Some("--dangerously-skip-permissions")),
        ("plan", Some("--permission-mode plan")),
        ("acceptEdits", Some("--permission-mode acceptEdits")),
        ("default", None),
    ] {
        let world = folder();
        told(looped(&world, &format!("hear; result '{PROMISE}'"), &["1", "--permissions", mode]));
        let args = called(&world).concat();
        let found = args.contains("--dangerously") || args.contains("--permission-mode");
        assert!(flag.map_or(!found, |flag| args.contains(flag)), "{mode}: {args}");
    }
}

#[test]
fn seed_003_standard_error_is_in_the_message_of_a_failure() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; echo 'disk on fire' >&2; exit 4", &["--max-failures", "1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["exit_code".to_owned()]));
    let blocking = of(&events, "iteration_ended")[0]["receipt"]["blocking"].as_str().unwrap().to_owned();
    assert!(blocking.contains("exit 4") && blocking.contains("disk on fire"), "{blocking}");
    let reason = of(&events, "verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("disk on fire"), "{reason}");
}

#[test]
fn seed_003_silence_ends_with_a_polite_signal_first() {
    let world = folder();
    let script = "hear; trap 'echo polite > \"$HOME/signal\"; exit 1' TERM; say hi; while :; do sleep 0.1; done";
    let (outcome, events) = told(looped(&world, script, &["--idle", "500ms", "--max-failures", "1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["silence".to_owned()]), "{}", outcome.stderr);
    assert_eq!(std::fs::read_to_string(world.home().join("signal")).unwrap(), "polite\n");
    assert!(outcome.elapsed < Duration::from_secs(30));
}

#[test]
fn seed_003_a_plan_to_approve_is_a_question() {
    let world = folder();
    let call = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "p", "name": "ExitPlanMode", "input": {"plan": "1. Dig"}}]}});
    std::fs::write(world.home().join("call"), format!("{call}\n")).unwrap();
    let (outcome, events) =
        told(looped(&world, "hear; cat \"$HOME/call\"; result 'A plan.'", &["--permissions", "plan"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(3), "blocked".into()));
    let question = of(&events, "question")[0];
    assert_eq!((&question["text"], &question["options"]), (&json!("1. Dig"), &json!(["approve", "reject"])));
}
