//! What an agent's definition asks for: a checkout of its own, notes, servers, a first prompt, a limit.

use super::{add, project, requests, said, streaming, system};
use crate::common::{bash, call, claude, finish, results, say, tool_results};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testkit::World;

fn task(agent: &str) -> Value {
    call("Agent", &json!({"description": "do it", "prompt": "the task", "subagent_type": agent}))
}

fn write(file: &str) -> Value {
    call("Write", &json!({"file_path": file, "content": "new\n"}))
}

/// The project with an agent that works apart.
fn apart(turns: Value) -> World {
    let world = project(turns);
    add(
        &world,
        ".claude/agents/apart.md",
        "---\nname: apart\ndescription: works apart\nisolation: worktree\n---\nApart.",
    );
    world
}

fn worktrees(world: &World) -> Vec<PathBuf> {
    let entries = world.wd().join(".claude/worktrees").read_dir();
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.is_dir()).collect()
}

fn branches(world: &World) -> usize {
    let heads = world.wd().join(".git/refs/heads").read_dir().unwrap();
    heads.count()
}

#[test]
fn what_an_isolated_agent_changes_stays_in_its_own_checkout() {
    let world = apart(json!([task("apart"), write("new.txt"), say("written"), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--permission-mode", "acceptEdits"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let kept = worktrees(&world);
    assert_eq!(kept.len(), 1, "{:?}", tool_results(&outcome));
    assert!(kept[0].join("new.txt").is_file() && !world.wd().join("new.txt").exists());
    let told = tool_results(&outcome).pop().unwrap();
    assert!(told.contains(&format!("Its changes are in the worktree {}", kept[0].display())), "{told}");
    assert!(told.contains("on the branch worktree-agent-"));
    assert_eq!(branches(&world), 2);
    assert!(system(&requests(&world)[1]).contains(&format!("Working folder: {}", kept[0].display())));
}

#[test]
fn a_checkout_in_which_nothing_changed_goes_again() {
    let world = apart(json!([task("apart"), say("looked"), say("done")]));
    let outcome = finish(streaming(&world, "hi"));
    assert!(tool_results(&outcome)[0].starts_with("looked"), "{:?}", tool_results(&outcome));
    assert_eq!((worktrees(&world), branches(&world)), (vec![], 1));
}

#[test]
fn the_call_itself_may_ask_for_isolation_and_rules_follow_into_it() {
    let input = json!({"description": "do it", "prompt": "the task", "isolation": "worktree"});
    let read = |file: &str| call("Read", &json!({"file_path": file}));
    let world =
        project(json!([call("Agent", &input), read("docs/imported.md"), read("CLAUDE.md"), say("read"), say("done")]));
    add(&world, ".claude/settings.json", r#"{"permissions":{"deny":["Read(/docs/**)"]}}"#);
    let outcome = finish(streaming(&world, "hi"));
    let results = tool_results(&outcome);
    assert!(results[0].contains("not permitted"), "{results:?}");
    assert!(results[1].contains("Memory of the project"), "{results:?}");
}

#[test]
fn without_a_repository_an_isolated_agent_is_not_started() {
    let world = apart(json!([task("apart"), say("done")]));
    std::fs::remove_dir_all(world.wd().join(".git")).unwrap();
    let outcome = finish(streaming(&world, "hi"));
    assert!(tool_results(&outcome)[0].contains("is not in a git repository"), "{:?}", tool_results(&outcome));
    assert_eq!(outcome.result().unwrap()["result"], "done");
}

fn notes(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("MEMORY.md"), "Noted: the tests are slow.\n").unwrap();
}

#[test]
fn an_agent_with_a_memory_knows_what_it_noted() {
    for (scope, folder) in [
        ("user", "home/.claude/agent-memory/keeper"),
        ("project", "wd/.claude/agent-memory/keeper"),
        ("local", "wd/.claude/agent-memory-local/keeper"),
    ] {
        let world = project(json!([task("keeper"), say("kept"), say("done")]));
        let folder = world.wd().parent().unwrap().join(folder);
        notes(&folder);
        let agent = format!("---\nname: keeper\ndescription: keeps notes\nmemory: {scope}\n---\nKeep.");
        add(&world, ".claude/agents/keeper.md", &agent);
        finish(streaming(&world, "hi"));
        let requests = requests(&world);
        let told = system(&requests[1]);
        assert!(told.contains("Noted: the tests are slow.") && told.contains(&folder.display().to_string()), "{told}");
        assert!(!system(&requests[0]).contains("Noted:"));
    }
}

fn tool_names(request: &Value) -> String {
    request["tools"].as_array().unwrap().iter().map(|tool| tool["name"].to_string()).collect()
}

#[test]
fn an_agent_brings_its_own_servers_and_they_are_nobody_elses() {
    let agents = json!({"clerk": {"description": "knows the notes", "prompt": "You know them.",
        "mcpServers": [{"own": {"command": "sh", "args": ["servers/notes.sh"]}}]}});
    let world = project(json!([task("clerk"), call("mcp__own__look", &json!({})), say("looked"), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--agents", &agents.to_string(), "--allowedTools", "mcp__own"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(tool_results(&outcome)[0].contains("a note of the project"), "{:?}", tool_results(&outcome));
    let requests = requests(&world);
    assert!(tool_names(&requests[1]).contains("mcp__own__look"));
    assert!([0, 3].iter().all(|at| !tool_names(&requests[*at]).contains("mcp__own")));
}

#[test]
fn an_untrusted_folders_agent_starts_no_server_of_its_own() {
    let world = project(json!([task("clerk"), say("looked"), say("done")]));
    let agent = "---\nname: clerk\ndescription: knows\nmcpServers:\n  - own:\n      command: touch\n      args: [started]\n---\nKnow.";
    add(&world, ".claude/agents/clerk.md", agent);
    finish(streaming(&world, "hi"));
    assert!(!world.wd().join("started").exists());
    assert!(!tool_names(&requests(&world)[1]).contains("mcp__own"));
}

#[test]
fn the_agent_of_a_session_speaks_first() {
    let agents = json!({"host": {"description": "hosts", "prompt": "You host.", "initialPrompt": "Welcome them."}});
    let world = project(json!([say("hello"), say("hello")]));
    let flags = ["--agents", &agents.to_string(), "--agent", "host"];
    finish(streaming(&world, "hi").args(flags));
    let told = said(&requests(&world)[0]);
    assert!(told.find("Welcome them.").unwrap() < told.find("\"hi\"").unwrap(), "{told}");
    let alone = finish(claude(&world).args(["-p"]).args(flags).close());
    assert_eq!((alone.code, alone.lines.as_slice()), (Some(0), &["hello".to_owned()][..]), "{}", alone.stderr);
    assert_eq!(said(&requests(&world)[1]).matches("Welcome them.").count(), 1);
}

#[test]
fn an_agent_ends_at_its_own_limit_and_without_the_memory_it_does_not_want() {
    let agents = json!({"short": {"description": "short", "prompt": "Be short.", "maxTurns": 1, "omitClaudeMd": true}});
    let read = call("Read", &json!({"file_path": "$WD/docs/imported.md"}));
    let world = project(json!([task("short"), read, say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--agents", &agents.to_string()]));
    let last = tool_results(&outcome).pop().unwrap();
    assert!(last.contains("maximum number of turns (1)"), "{last}");
    let requests = requests(&world);
    assert!(
        !said(&requests[1]).contains("Memory of the project") && said(&requests[0]).contains("Memory of the project")
    );
}

/// Both the conversation and its agent run a command that takes for ever, whoever asks first.
#[test]
fn an_agent_in_the_background_is_stopped_by_its_name() {
    let input = json!({"description": "wait", "prompt": "wait", "run_in_background": true});
    let sleep = call("Bash", &json!({"command": "sleep 300"}));
    let world = project(json!([call("Agent", &input), sleep.clone(), sleep, say("done")]));
    let stop =
        json!({"type": "control_request", "request_id": "s", "request": {"subtype": "stop_task", "task_id": "$TASK"}});
    let interrupt = json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}});
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--dangerously-skip-permissions"])
        .prompt("go")
        .wait(json!({"type": "system", "subtype": "task_started"}))
        .wait(json!({"type": "assistant", "message": {"content": [{"name": "Bash"}]}, "parent_tool_use_id": "toolu_000001_0"}))
        .send(stop)
        .wait(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "s"}}))
        .send(interrupt)
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?}\n{:?}", outcome.unmet, outcome.lines);
    let events = outcome.events();
    let ended = events.iter().find(|event| event["subtype"] == "task_notification").expect("it ended on the wire");
    assert_eq!(ended["status"], "stopped");
    assert_eq!(results(&outcome).len(), 1, "nobody is told of what was stopped on purpose");
}

/// Clients show what an agent is at, and what it has cost.
#[test]
fn every_step_of_an_agent_is_told() {
    let sent = call("Agent", &json!({"description": "look", "prompt": "look around"}));
    let world = apart(json!([sent, bash("ls"), bash("pwd"), say("seen"), bash("ls"), say("done")]));
    let outcome = finish(streaming(&world, "hi"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let events = outcome.events();
    let started = events.iter().find(|event| event["subtype"] == "task_started").unwrap();
    let steps: Vec<&Value> = events.iter().filter(|event| event["subtype"] == "task_progress").collect();
    assert_eq!(steps.len(), 2, "the main conversation is no task");
    for (at, step) in steps.iter().enumerate() {
        let said = (&step["task_id"], &step["tool_use_id"], &step["description"], &step["last_tool_name"]);
        assert_eq!(said, (&started["task_id"], &started["tool_use_id"], &json!("look"), &json!("Bash")));
        assert_eq!(step["usage"]["tool_uses"], at + 1);
        assert!(step["usage"]["total_tokens"].as_u64() > Some(0) && step["usage"]["duration_ms"].is_u64(), "{step}");
    }
}
