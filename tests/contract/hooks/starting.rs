//! Before the first prompt and at the very end.

use super::{asked, heard, notes, on, only, run, said};
use crate::common::{bash, claude, finish, say, tool_results, world};
use serde_json::json;

fn settings() -> serde_json::Value {
    json!({"hooks": {
        "Setup": [
            {"matcher": "init", "hooks": [notes("init"), {"type": "command", "command": "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"Setup\",\"additionalContext\":\"the tools are installed\"}}'"}]},
            {"matcher": "maintenance", "hooks": [notes("maintenance")]},
        ],
        "SessionStart": [{"hooks": [notes("start")]}],
    }})
}

#[test]
fn setup_hooks_run_first_for_the_flag_that_asks() {
    for (flag, file, other) in [("--init", "init", "maintenance"), ("--maintenance", "maintenance", "init")] {
        let world = world(json!([say("done")]));
        let outcome = finish(run(&world, &settings(), "go").args([flag]));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{flag}");
        let told = only(&world, file);
        assert_eq!((&told["hook_event_name"], &told["trigger"]), (&json!("Setup"), &json!(file)));
        assert!(heard(&world, other).is_empty());
        assert_eq!(said(&world, 0).contains("the tools are installed"), flag == "--init");
        let shown: Vec<_> = outcome.events().into_iter().filter(|event| event["subtype"] == "hook_started").collect();
        assert_eq!(shown[0]["hook_event"], "Setup", "shown without being asked for, and first: {shown:?}");
    }
}

#[test]
fn without_a_flag_there_is_no_setup() {
    let world = world(json!([say("done")]));
    finish(run(&world, &settings(), "go"));
    assert!(heard(&world, "init").is_empty() && heard(&world, "maintenance").is_empty());
    assert_eq!(only(&world, "start")["source"], "startup");
}

#[test]
fn init_only_runs_setup_and_session_start_and_asks_no_model() {
    let world = world(json!([say("never")]));
    let outcome = finish(claude(&world).args(["--init-only", "--settings", &settings().to_string()]).hold());
    assert_eq!((outcome.code, outcome.stderr.as_str(), outcome.lines.len()), (Some(0), "", 0));
    assert_eq!(only(&world, "init")["trigger"], "init");
    assert_eq!(only(&world, "start")["source"], "startup");
    assert_eq!(world.mock().requests().len(), 0);
}

#[test]
fn a_start_hook_gives_a_title_a_first_message_and_variables() {
    let world = world(json!([bash("echo \"<$GREETING>\""), say("done")]));
    let output = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "sessionTitle": "mend the roof", "initialUserMessage": "Speak plainly."}});
    let command = format!("echo 'export GREETING=hello' >> \"$CLAUDE_ENV_FILE\"; echo '{output}'");
    let outcome = finish(run(&world, &on("SessionStart", &json!([{"type": "command", "command": command}])), "go"));
    assert_eq!(tool_results(&outcome), ["<hello>"]);
    assert!(said(&world, 0).contains("Speak plainly."));
    let titled = finish(run(&world, &json!({}), "again").args(["--resume", "mend the roof"]));
    assert_eq!(titled.session_id(), outcome.session_id());
}

#[test]
fn the_start_says_which_agent_and_title_there_are_and_the_end_why() {
    let world = world(json!([say("done")]));
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [notes("start")]}], "SessionEnd": [{"matcher": "other", "hooks": [notes("end")]}]}});
    finish(run(&world, &hooks, "go").args(["--name", "roof", "--agent", "Explore", "--effort", "high"]));
    let start = only(&world, "start");
    assert_eq!((&start["agent_type"], &start["session_title"]), (&json!("Explore"), &json!("roof")));
    assert_eq!(start["effort"], json!({"level": "high"}));
    let end = only(&world, "end");
    assert_eq!((&end["reason"], end["prompt_id"].is_string()), (&json!("other"), true));
    assert_eq!(asked(&world), 1);
}

#[test]
fn safe_mode_runs_no_hook_of_the_folder() {
    let world = world(json!([say("done")]));
    std::fs::create_dir(world.wd().join(".claude")).unwrap();
    std::fs::write(world.wd().join(".claude/settings.json"), settings().to_string()).unwrap();
    finish(claude(&world).args(["-p", "go", "--init", "--safe-mode"]).close());
    assert!(heard(&world, "init").is_empty() && heard(&world, "start").is_empty());
}
