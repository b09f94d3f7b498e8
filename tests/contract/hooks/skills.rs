//! Hooks that come with a skill, or with the agent that the session runs as.

use super::{answer, asked, control, duplex, heard, only, run};
use crate::common::{bash, call, finish, say, world};
use serde_json::{Value, json};
use std::path::Path;
use testkit::World;

/// Notes every command, and the first one apart.
const HOOKS: &str = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: cat >> \"$CLAUDE_PROJECT_DIR\"/before\n        - type: command\n          command: cat >> \"$CLAUDE_PROJECT_DIR\"/first\n          once: true\n  Stop:\n    - hooks:\n        - type: command\n          command: cat >> \"$CLAUDE_PROJECT_DIR\"/stopped\n";

fn write(folder: &Path, name: &str, more: &str) {
    let folder = folder.join(".claude/skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("---\ndescription: lays bricks\n{more}{HOOKS}---\nLay bricks.\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn with_skill(turns: Value, more: &str) -> World {
    let world = world(turns);
    // The user's own: a folder that nobody trusts brings no hooks.
    write(world.home(), "lay", more);
    world
}

fn lay() -> Value {
    call("Skill", &json!({"skill": "lay"}))
}

fn commands(world: &World, file: &str) -> Vec<Value> {
    heard(world, file).into_iter().map(|mut told| told["tool_input"]["command"].take()).collect()
}

#[test]
fn hooks_of_a_skill_run_from_when_it_was_called() {
    let turns = json!([bash("echo 1"), lay(), bash("echo 2"), lay(), bash("echo 3"), say("done")]);
    let world = with_skill(turns, "");
    let outcome = finish(run(&world, &json!({}), "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(commands(&world, "before"), ["echo 2", "echo 3"], "once a command, however often it was called");
    assert_eq!(commands(&world, "first"), ["echo 2"]);
    assert_eq!(only(&world, "stopped")["hook_event_name"], "Stop");
}

#[test]
fn they_end_with_the_conversation_that_called_it() {
    let world = with_skill(json!([bash("echo 1"), say("laid"), bash("echo 2"), say("done")]), "");
    let outcome = finish(
        duplex(&world, &json!({}))
            .args(["--allowedTools", "Bash"])
            .prompt("/lay")
            .wait(json!({"type": "result"}))
            .prompt("/clear")
            .wait(json!({"type": "result"}))
            .prompt("go on")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    assert_eq!(commands(&world, "before"), ["echo 1"]);
    assert_eq!(asked(&world), 4);
}

#[test]
fn a_skill_with_an_agent_of_its_own_brings_its_hooks_to_it() {
    let world =
        with_skill(json!([lay(), bash("echo inner"), say("laid"), bash("echo outer"), say("done")]), "context: fork\n");
    let outcome = finish(run(&world, &json!({}), "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(commands(&world, "before"), ["echo inner"]);
    assert_eq!(only(&world, "stopped")["hook_event_name"], "SubagentStop");
}

#[test]
fn a_folders_skill_brings_hooks_only_where_the_folder_is_trusted() {
    for trusted in [false, true] {
        let world = world(json!([lay(), bash("echo 1"), say("done")]));
        write(world.wd(), "lay", "");
        if trusted {
            testkit::looping::trust(&world);
        }
        let outcome = finish(run(&world, &json!({}), "go"));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(world.read("before").is_some(), trusted);
    }
}

#[test]
fn who_switches_hooks_off_switches_these_off_too() {
    let agents = json!({"mason": {"description": "d", "prompt": "p", "hooks": {"PreToolUse": [{"hooks": [{
        "type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR\"/before"}]}]}}});
    let send = call("Agent", &json!({"description": "d", "prompt": "p", "subagent_type": "mason"}));
    for (settings, heard) in [(json!({}), true), (json!({"disableAllHooks": true}), false)] {
        let world = with_skill(json!([lay(), bash("echo 1"), send, bash("echo 2"), say("laid"), say("done")]), "");
        let outcome = finish(run(&world, &settings, "go").args(["--agents", &agents.to_string()]));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(world.read("before").is_some(), heard, "{settings}");
    }
}

#[test]
fn the_agent_that_the_session_runs_as_brings_its_hooks() {
    let callback = json!({"PreToolUse": [{"hookCallbackIds": ["mine"]}]});
    let agents = json!({"mason": {"description": "d", "prompt": "p", "hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR\"/started"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "cat >> \"$CLAUDE_PROJECT_DIR\"/stopped"}]}]}}});
    let world = world(json!([bash("echo 1"), say("done")]));
    let outcome = finish(
        duplex(&world, &json!({}))
            .args(["--agent", "mason"])
            .send(control("i", &json!({"subtype": "initialize", "agents": agents, "hooks": callback})))
            .prompt("go")
            .wait(json!({"type": "control_request", "request": {"subtype": "hook_callback", "callback_id": "mine"}}))
            .send(answer(&json!({})))
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    assert_eq!(only(&world, "started")["source"], "startup");
    assert_eq!(only(&world, "stopped")["hook_event_name"], "Stop");
}
