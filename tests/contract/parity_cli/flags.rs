//! Flags that the reference takes.

use super::{claude, finish, here, own, plain, refused, run};
use crate::common::{self, call, results, say};
use serde_json::json;
use testkit::Step;

const STREAM: [&str; 4] = ["--output-format", "stream-json", "--verbose", "-p"];

#[test]
fn flags_without_effect_are_taken_with_their_values() {
    let world = plain();
    for words in [
        &["--brief"][..],
        &["--system-prompt-snapshot", "off"],
        &["--workload", "nightly"],
        &["--permission-prompts", "host"],
    ] {
        let before = world.mock().requests().len();
        let outcome = run(&world, &[&["-p", "hi"], words].concat());
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{words:?}");
        let asked = world.mock().requests()[before].body.to_string();
        assert!(!asked.contains("nightly") && !asked.contains("\"off\""), "the value is no part of the prompt");
    }
}

#[test]
fn values_that_are_tolerated_are_said_once() {
    let world = plain();
    for (words, line) in [
        (&["--add-dir", "/nope"][..], "warning: --add-dir /nope is ignored: "),
        (&["--effort", "zzz"], "warning: --effort 'zzz' is unknown and ignored; "),
        (&["--max-turns", "0"], "warning: --max-turns 0 sets no limit"),
    ] {
        let outcome = run(&world, &[&["-p", "hi"], words].concat());
        assert_eq!(outcome.code, Some(0), "{words:?}");
        assert!(outcome.stderr.starts_with(line) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
    assert!(world.mock().requests().iter().all(|request| request.body["output_config"]["effort"] != "zzz"));
}

#[test]
fn the_host_is_asked_where_it_can_answer() {
    let world = common::world(json!([common::bash("touch made"), say("done")]));
    let run = claude(&world)
        .args(STREAM)
        .args(["--input-format", "stream-json", "--permission-prompts", "host"])
        .step(Step::Send(json!({"type": "user", "message": {"role": "user", "content": "go"}})))
        .step(Step::Wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool"}})))
        .step(Step::Send(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "$REQ",
            "response": {"behavior": "allow", "updatedInput": {"command": "touch made"}}}})))
        .step(Step::Wait(json!({"type": "result"})))
        .close();
    let outcome = finish(run);
    assert!(outcome.unmet.is_empty() && world.read("made").is_some(), "{outcome:?}");
}

#[test]
fn agents_may_stand_in_a_file() {
    let world = plain();
    here(&world, "team.json", r#"{"tester": {"description": "tests", "prompt": "You test."}}"#);
    let outcome = run(&world, &["-p", "hi", "--agents", "team.json", "--agent", "tester"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(world.mock().requests()[0].body["system"].to_string().contains("You test."));
    refused(&world, claude(&world).args(["-p", "hi", "--agents", "nowhere.json"]), "neither JSON nor a file");
}

#[test]
fn plan_mode_instructions_reach_the_model() {
    let world = plain();
    run(&world, &["-p", "hi", "--permission-mode", "plan", "--plan-mode-instructions", "Plan in verse."]);
    assert!(world.mock().requests()[0].body.to_string().contains("Plan in verse."));
}

#[test]
fn restricted_runs_no_code_and_reads_no_settings_of_the_folder_or_the_user() {
    let world = plain();
    own(&world, ".claude/settings.json", &json!({"model": "haiku", "permissions": {"allow": ["Bash", "WebFetch"]}}));
    let tools = |more: &[&str]| -> Vec<String> {
        let before = world.mock().requests().len();
        let outcome = run(&world, &[&["-p", "hi", "--restricted"], more].concat());
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{more:?}");
        let body = &world.mock().requests()[before].body;
        assert_eq!(body["model"], "claude-opus-5-5", "the user's settings do not count");
        let offered = body["tools"].as_array().cloned().unwrap_or_default();
        offered.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    };
    let offered = tools(&["--allowedTools", "Bash"]);
    assert!(!offered.iter().any(|tool| ["Bash", "WebFetch"].contains(&tool.as_str())), "{offered:?}");
    assert!(offered.iter().any(|tool| tool == "Read"), "{offered:?}");
    assert_eq!(tools(&["--tools", "Bash,Read"]), ["Bash", "Read"]);
    for words in [&["--dangerously-skip-permissions"][..], &["--permission-mode", "bypassPermissions"]] {
        let run = claude(&world).args(["-p", "hi", "--restricted"]).args(words.iter().copied());
        refused(&world, run, "--restricted and bypassPermissions");
    }
}

#[test]
fn rewind_files_restores_and_asks_nobody() {
    let world =
        common::world(json!([call("Write", &json!({"file_path": "$WD/a.txt", "content": "new"})), say("done")]));
    here(&world, "a.txt", "old");
    let id = "11111111-2222-4333-8444-555555555555";
    let edit = claude(&world)
        .args(STREAM)
        .args(["--session-id", id, "--permission-mode", "acceptEdits", "--input-format", "stream-json"])
        .args(["--replay-user-messages", "--allowedTools", "Read"])
        .env("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "1")
        .step(Step::Send(json!({"type": "user", "message": {"role": "user", "content": "read a.txt, then write it"}})))
        .step(Step::Wait(json!({"type": "result"})))
        .close();
    let outcome = finish(edit);
    assert_eq!(results(&outcome).len(), 1);
    assert_eq!(world.read("a.txt").as_deref(), Some("new"), "the edit did not happen: {:?}", outcome.lines);
    let prompt = outcome.events().into_iter().find(|event| event["isReplay"] == true).expect("the echo");
    let uuid = prompt["uuid"].as_str().expect("a uuid").to_owned();
    let asked = world.mock().requests().len();
    refused(&world, claude(&world).args(["-p", "--rewind-files", &uuid]), "--rewind-files needs --resume");
    refused(&world, claude(&world).args(["-p", "--resume", id, "--rewind-files", "nothing"]), "No file checkpoint");
    let rewound = run(&world, &["-p", "--resume", id, "--rewind-files", &uuid]);
    assert_eq!((rewound.code, &*rewound.stderr), (Some(0), ""), "{:?}", rewound.lines);
    assert_eq!(world.read("a.txt").as_deref(), Some("old"));
    assert_eq!(world.mock().requests().len(), asked);
}
