//! A prompt that is a command.

use super::{asked, heard, notes, only, run, said};
use crate::common::{finish, say, world};
use serde_json::{Value, json};
use testkit::World;

/// A project with the command `/fix`, whose text runs a command of its own.
fn project(turns: Value) -> World {
    let world = world(turns);
    let folder = world.wd().join(".claude/commands");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("fix.md"), "Fix $ARGUMENTS. Now: !`touch ran; echo really`\n").unwrap();
    world
}

#[test]
fn an_expansion_is_told_with_its_command_and_adds_to_the_prompt() {
    let world = project(json!([say("fixed")]));
    let hooks = json!({"hooks": {"UserPromptExpansion": [
        {"matcher": "fix", "hooks": [notes("expanded"), {"type": "command", "command": "echo mind the gap"}]},
        {"matcher": "other", "hooks": [notes("other")]},
    ]}});
    let outcome = finish(run(&world, &hooks, "/fix the roof"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = only(&world, "expanded");
    assert_eq!((&told["expansion_type"], &told["command_name"]), (&json!("slash_command"), &json!("fix")));
    assert_eq!((&told["command_args"], &told["prompt"]), (&json!("the roof"), &json!("/fix the roof")));
    assert_eq!(told["command_source"], "project");
    let said = said(&world, 0);
    assert!(said.contains("Fix the roof. Now: really") && said.contains("mind the gap"), "{said}");
    assert!(heard(&world, "other").is_empty());
}

#[test]
fn a_refused_expansion_runs_nothing_and_asks_nobody() {
    let world = project(json!([say("never")]));
    let hooks = json!({"hooks": {"UserPromptExpansion": [{"hooks": [{"type": "command", "command": "echo not today >&2; exit 2"}]}]}});
    let outcome = finish(run(&world, &hooks, "/fix the roof"));
    let result = outcome.result().unwrap();
    assert!(result["result"].as_str().unwrap().contains("not today"), "{result}");
    assert_eq!((outcome.code, asked(&world), world.read("ran")), (Some(1), 0, None));
}

#[test]
fn a_plain_prompt_is_no_expansion() {
    let world = project(json!([say("fine")]));
    let hooks = json!({"hooks": {"UserPromptExpansion": [{"hooks": [notes("expanded")]}], "UserPromptSubmit": [{"hooks": [notes("prompt")]}]}});
    finish(run(&world, &hooks, "fix the roof"));
    assert!(heard(&world, "expanded").is_empty());
    assert_eq!(only(&world, "prompt")["prompt"], "fix the roof");
}

/// A hook on every command, with this answer.
fn on_bash(event: &str, answer: &Value) -> Value {
    let command = format!("echo '{answer}'");
    json!({"hooks": {event: [{"matcher": "Bash", "hooks": [notes("told"), {"type": "command", "command": command}]}]}})
}

#[test]
fn a_line_inside_a_command_runs_with_the_input_that_a_hook_sets() {
    let world = project(json!([say("fixed")]));
    let output = json!({"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"}});
    let hooks = on_bash("PreToolUse", &json!({"hookSpecificOutput": output}));
    let outcome = finish(run(&world, &hooks, "/fix the roof"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(said(&world, 0).contains("Now: changed"), "{}", said(&world, 0));
    assert_eq!(world.read("ran"), None, "what was written is not what runs");
}

#[test]
fn a_line_inside_a_command_is_told_to_hooks_when_it_has_run() {
    let world = project(json!([say("fixed")]));
    let output = json!({"hookEventName": "PostToolUse", "additionalContext": "the roof is wet"});
    let hooks = on_bash("PostToolUse", &json!({"hookSpecificOutput": output}));
    finish(run(&world, &hooks, "/fix the roof"));
    let told = only(&world, "told");
    assert_eq!((&told["tool_name"], &told["tool_response"]["stdout"]), (&json!("Bash"), &json!("really")));
    assert!(said(&world, 0).contains("the roof is wet"), "{}", said(&world, 0));
}

#[test]
fn a_hook_that_stops_the_run_at_a_line_inside_a_command_stops_it() {
    let world = project(json!([say("never")]));
    let hooks = on_bash("PreToolUse", &json!({"continue": false, "stopReason": "enough"}));
    let outcome = finish(run(&world, &hooks, "/fix the roof"));
    assert_eq!(outcome.result().unwrap()["terminal_reason"], "hook_stopped", "{:?}", outcome.result());
    assert_eq!((asked(&world), world.read("ran")), (0, None));
}

#[test]
fn what_a_line_inside_a_command_prints_is_searched_for_secrets() {
    let world = project(json!([say("fixed")]));
    let file = world.wd().join(".claude/commands/fix.md");
    std::fs::write(file, "Key: !`printenv ANTHROPIC_API_KEY`\n").unwrap();
    let outcome = finish(run(&world, &json!({}), "/fix"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(said(&world, 0).contains("Key: [secret]"), "{}", said(&world, 0));
}
