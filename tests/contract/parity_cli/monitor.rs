//! Commands that are watched, and worktrees that the session moves into.

use crate::common::{self, call, claude, finish, results, say, tool_results};
use serde_json::json;
use testkit::{Run, World};

fn streaming(world: &World, tools: &str) -> Run {
    claude(world).args(["-p", "go", "--output-format", "stream-json", "--verbose", "--tools", tools])
}

fn asked(world: &World) -> Vec<String> {
    world.mock().requests().iter().map(|request| request.body["messages"].to_string()).collect()
}

#[test]
fn every_line_of_a_monitor_begins_a_turn_and_so_does_its_end() {
    let watched = json!({"command": "echo first; sleep 1; echo second", "description": "a count"});
    let world =
        common::world(json!([call("Monitor", &watched), say("watching"), say("heard"), say("heard"), say("heard")]));
    let outcome = finish(streaming(&world, "Monitor").args(["--dangerously-skip-permissions"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let told = events.iter().find(|event| event["tool_use_result"]["taskId"].is_string()).expect("the result");
    assert_eq!(told["tool_use_result"]["timeoutMs"], json!(300_000));
    let started = events.iter().find(|event| event["subtype"] == "task_started").expect("a start");
    assert_eq!(started["task_id"], told["tool_use_result"]["taskId"]);
    let ended = events.iter().find(|event| event["subtype"] == "task_notification").expect("an end");
    assert_eq!(ended["status"], "completed");
    assert!(results(&outcome).len() >= 3, "{:?}", outcome.lines);
    let last = asked(&world).pop().unwrap_or_default();
    assert!(last.contains("<event>first</event>") && last.contains("<event>second</event>"), "{last}");
}

/// What is forbidden in one tool is not run by another, whatever the mode.
#[test]
fn rules_about_commands_count_for_monitors() {
    let watched = json!({"command": "touch made.txt", "description": "x"});
    let world = common::world(json!([call("Monitor", &watched), say("done")]));
    let run =
        streaming(&world, "Monitor").args(["--dangerously-skip-permissions", "--disallowedTools", "Bash(touch:*)"]);
    let outcome = finish(run.close());
    assert_eq!((world.read("made.txt"), tool_results(&outcome).len()), (None, 1), "{:?}", outcome.lines);
    let world = common::world(json!([call("Monitor", &watched), say("done")]));
    finish(streaming(&world, "Monitor").close());
    assert_eq!(world.read("made.txt"), None, "nobody is there to be asked");
}

#[test]
fn a_session_moves_into_a_worktree_and_back() {
    let world = common::world(json!([
        call("EnterWorktree", &json!({"name": "try"})),
        call("Write", &json!({"file_path": "$WD/.claude/worktrees/try/new.txt", "content": "x\n"})),
        call("Bash", &json!({"command": "pwd; git branch --show-current"})),
        call("EnterWorktree", &json!({"name": "again"})),
        call("ExitWorktree", &json!({"action": "remove"})),
        call("ExitWorktree", &json!({"action": "remove", "discard_changes": true})),
        call("Bash", &json!({"command": "pwd; git branch"})),
        say("done"),
    ]));
    let tools = "EnterWorktree,ExitWorktree,Bash,Write";
    let outcome =
        finish(streaming(&world, tools).args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = tool_results(&outcome);
    assert!(told[0].contains(".claude/worktrees/try") && told[0].contains("worktree-try"), "{told:?}");
    assert!(told[2].contains(".claude/worktrees/try") && told[2].contains("worktree-try"), "{told:?}");
    assert!(told[3].contains("already") && told[4].contains("discard_changes"), "{told:?}");
    assert!(told[5].contains("is removed"), "{told:?}");
    assert!(!told[6].contains("worktree"), "{told:?}");
    assert_eq!(world.read("new.txt"), None);
    assert_eq!(world.read(".claude/worktrees/try/new.txt"), None);
    let shape = outcome.events().into_iter().find(|event| event["tool_use_result"]["worktreeBranch"].is_string());
    assert_eq!(shape.expect("the result")["tool_use_result"]["worktreeBranch"], "worktree-try");
}

#[test]
fn no_worktree_is_entered_elsewhere() {
    let outside = tempfile::tempdir().expect("a folder");
    let world = common::world(json!([
        call("EnterWorktree", &json!({"path": outside.path()})),
        call("EnterWorktree", &json!({"name": "../../out"})),
        call("ExitWorktree", &json!({"action": "remove", "discard_changes": true})),
        say("done"),
    ]));
    let outcome =
        finish(streaming(&world, "EnterWorktree,ExitWorktree").args(["--dangerously-skip-permissions"]).close());
    let told = tool_results(&outcome);
    assert!(told[0].contains("needs") && told[1].contains("needs") && told[2].contains("no worktree"), "{told:?}");
    assert!(outside.path().is_dir() && !world.wd().join(".claude/worktrees").exists());
}
