//! Agents: their own hooks, their checkouts, and the list of tasks.

use super::{asked, notes, on, only, run};
use crate::common::{bash, call, finish, say, tool_results, world};
use serde_json::{Value, json};
use testkit::World;

fn with_agent(turns: Value, frontmatter: &str) -> World {
    let world = world(turns);
    // The user's own: a folder that nobody trusts names no hooks.
    let folder = world.home().join(".claude/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("mason.md"),
        format!("---\nname: mason\ndescription: lays bricks\n{frontmatter}---\nLay bricks.\n"),
    )
    .unwrap();
    world
}

fn send_mason() -> Value {
    call("Agent", &json!({"description": "lay", "prompt": "lay bricks", "subagent_type": "mason"}))
}

#[test]
fn hooks_of_an_agents_file_run_for_it_alone() {
    let hooks = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: cat >> \"$CLAUDE_PROJECT_DIR\"/before\n  Stop:\n    - hooks:\n        - type: command\n          command: cat >> \"$CLAUDE_PROJECT_DIR\"/stopped\n";
    let world =
        with_agent(json!([send_mason(), bash("echo inner"), say("laid"), bash("echo outer"), say("done")]), hooks);
    let outcome = finish(run(&world, &json!({}), "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let before = only(&world, "before");
    assert_eq!((&before["tool_input"]["command"], &before["agent_type"]), (&json!("echo inner"), &json!("mason")));
    assert_eq!(only(&world, "stopped")["hook_event_name"], "SubagentStop");
}

#[test]
fn a_hook_makes_and_removes_the_checkout_of_an_agent() {
    let world = with_agent(json!([send_mason(), bash("pwd"), say("laid"), say("done")]), "isolation: worktree\n");
    let make =
        "cat >> \"$CLAUDE_PROJECT_DIR\"/made; mkdir -p \"$CLAUDE_PROJECT_DIR\"/yard; echo \"$CLAUDE_PROJECT_DIR\"/yard";
    let hooks = json!({"hooks": {
        "WorktreeCreate": [{"hooks": [{"type": "command", "command": make}]}],
        "WorktreeRemove": [{"hooks": [notes("removed")]}],
    }});
    let outcome = finish(run(&world, &hooks, "go"));
    let yard = world.wd().join("yard");
    assert_eq!(tool_results(&outcome)[0], yard.display().to_string());
    assert!(only(&world, "made")["name"].as_str().unwrap().starts_with("agent-"));
    assert_eq!(only(&world, "removed")["worktree_path"], json!(yard));
    assert!(!world.wd().join(".claude/worktrees").exists(), "git made none");
}

#[test]
fn a_checkout_that_a_hook_cannot_make_starts_no_agent() {
    for command in ["echo no room >&2; exit 1", "exit 2", "echo /nowhere/at/all", "true"] {
        let world = with_agent(json!([send_mason(), say("done")]), "isolation: worktree\n");
        let hooks = on("WorktreeCreate", &json!([{"type": "command", "command": command}]));
        let outcome = finish(run(&world, &hooks, "go"));
        assert!(
            tool_results(&outcome)[0].contains("The agent was not started"),
            "{command}: {:?}",
            tool_results(&outcome)
        );
        assert_eq!(asked(&world), 2, "{command}");
    }
}

fn list(turns: Value, hooks: &Value) -> (World, Vec<String>) {
    let world = world(turns);
    let outcome = finish(run(&world, hooks, "go").env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let results = tool_results(&outcome);
    (world, results)
}

fn create(subject: &str) -> Value {
    call("TaskCreate", &json!({"subject": subject, "description": "all of it"}))
}

fn complete(id: &str) -> Value {
    call("TaskUpdate", &json!({"taskId": id, "status": "completed"}))
}

#[test]
fn tasks_are_told_of_when_they_come_and_when_they_are_done() {
    let hooks = json!({"hooks": {"TaskCreated": [{"hooks": [notes("created")]}], "TaskCompleted": [{"hooks": [notes("completed")]}]}});
    let turns =
        json!([create("mend the roof"), complete("1"), complete("1"), call("TaskList", &json!({})), say("done")]);
    let (world, results) = list(turns, &hooks);
    assert_eq!(results[0], "Task #1 created successfully: mend the roof");
    assert_eq!(results[3], "#1 [completed] mend the roof");
    let created = only(&world, "created");
    assert_eq!(
        (&created["task_id"], &created["task_subject"], &created["task_description"]),
        (&json!("1"), &json!("mend the roof"), &json!("all of it"))
    );
    assert_eq!(only(&world, "completed")["task_id"], "1");
}

#[test]
fn a_refused_task_is_not_there_and_a_refused_end_leaves_it_open() {
    let refuse =
        |words: &str| json!([{"hooks": [{"type": "command", "command": format!("echo {words} >&2; exit 2")}]}]);
    let (_, results) = list(
        json!([create("build a tower"), call("TaskList", &json!({})), say("done")]),
        &json!({"hooks": {"TaskCreated": refuse("too high")}}),
    );
    assert!(results[0].contains("too high") && results[1] == "No tasks found", "{results:?}");
    let (_, results) = list(
        json!([create("mend"), complete("1"), call("TaskList", &json!({})), say("done")]),
        &json!({"hooks": {"TaskCompleted": refuse("it leaks")}}),
    );
    assert!(results[1].contains("it leaks") && results[2] == "#1 [pending] mend", "{results:?}");
}

#[test]
fn a_hook_of_a_task_may_stop_the_run() {
    let stop = json!({"type": "command", "command": "echo '{\"continue\":false,\"stopReason\":\"lunch\"}'"});
    let (world, _) = list(json!([create("mend"), say("never")]), &on("TaskCreated", &json!([stop])));
    assert_eq!(asked(&world), 1);
}

#[test]
fn the_list_is_there_only_where_it_is_asked_for() {
    let world = world(json!([say("done"), say("done")]));
    finish(run(&world, &json!({}), "go"));
    finish(run(&world, &json!({}), "go").args(["--tools", "TaskCreate,TaskList"]));
    let offered = |request: usize| world.mock().requests()[request].body["tools"].to_string();
    assert!(!offered(0).contains("TaskCreate") && offered(1).contains("TaskCreate"));
}
