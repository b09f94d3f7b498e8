//! Instructions that wait for their files: the memory of subfolders, rules with `paths`, and what the model keeps.

use super::{add, project, requests, said, streaming};
use crate::common::{call, claude, finish, say, tool_results};
use serde_json::{Value, json};
use testkit::World;

fn read(file: &str) -> Value {
    call("Read", &json!({"file_path": format!("$WD/{file}")}))
}

/// A project whose `api` folder has instructions of its own.
fn with_api(turns: Value) -> World {
    let world = project(turns);
    for (name, text) in [
        ("api/CLAUDE.md", "Memory of the api. @more.md"),
        ("api/more.md", "Imported by the api."),
        ("api/CLAUDE.local.md", "Local memory of the api."),
        (".claude/rules/sql.md", "---\npaths:\n  - \"**/*.sql\"\n---\nRule for queries."),
        ("api/v1/x.sql", "select 1\n"),
        ("api/v1/y.txt", "text\n"),
    ] {
        add(&world, name, text);
    }
    world
}

const API: [&str; 3] = ["Memory of the api.", "Imported by the api.", "Local memory of the api."];
const RULE: &str = "Rule for queries.";

fn has(text: &str, all: &[&str]) -> bool {
    all.iter().all(|one| text.contains(one))
}

fn has_any(text: &str, all: &[&str]) -> bool {
    all.iter().any(|one| text.contains(one))
}

#[test]
fn a_file_that_is_read_brings_the_memory_of_its_folder_and_the_rules_for_it() {
    let world = with_api(json!([read("api/v1/y.txt"), read("api/v1/x.sql"), read("api/v1/x.sql"), say("ok")]));
    let outcome = finish(streaming(&world, "hi"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told: Vec<String> = requests(&world).iter().map(said).collect();
    assert!(!has_any(&told[0], &API) && !told[0].contains(RULE), "{}", told[0]);
    assert!(has(&told[1], &API) && !told[1].contains(RULE), "{}", told[1]);
    assert!(told[2].contains(RULE), "{}", told[2]);
    assert_eq!(told[3].matches(RULE).count(), 1, "it comes once");
    assert_eq!(told[3].matches(API[0]).count(), 1);
}

#[test]
fn a_mentioned_or_written_file_counts_too() {
    let world = with_api(json!([say("ok")]));
    finish(streaming(&world, "look at @api/v1/x.sql"));
    assert!(has(&said(&requests(&world)[0]), &[API[0], RULE]));
    let write = call("Write", &json!({"file_path": "$WD/api/new.sql", "content": "select 2"}));
    let world = with_api(json!([write, say("ok")]));
    finish(streaming(&world, "hi").args(["--permission-mode", "acceptEdits"]));
    assert!(has(&said(&requests(&world)[1]), &[API[0], RULE]));
}

#[test]
fn what_is_excluded_or_of_another_source_stays_out() {
    for flags in
        [["--settings", r#"{"claudeMdExcludes":["**/api/*.md","**/rules/*.md"]}"#], ["--setting-sources", "user"]]
    {
        let world = with_api(json!([read("api/v1/x.sql"), say("ok")]));
        finish(streaming(&world, "hi").args(flags));
        let told = said(&requests(&world)[1]);
        assert!(told.contains("select 1") && !has_any(&told, &API) && !told.contains(RULE), "{flags:?}: {told}");
    }
}

#[test]
fn a_sub_agent_is_told_of_the_files_it_touches_itself() {
    let task = json!({"description": "review it", "prompt": "look", "subagent_type": "reviewer"});
    let world = with_api(json!([call("Agent", &task), read("api/v1/x.sql"), say("seen"), say("done")]));
    finish(streaming(&world, "hi"));
    let told: Vec<String> = requests(&world).iter().map(said).collect();
    assert!(has(&told[2], &API) && told[2].contains(RULE), "{}", told[2]);
    assert!(!has_any(&told[3], &API), "its own conversation only: {}", told[3]);
}

#[test]
fn after_a_compaction_it_is_told_again() {
    let world = with_api(json!([read("api/v1/x.sql"), say("one"), read("api/v1/x.sql"), say("two")]));
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .prompt("hi")
        .wait(json!({"type": "result"}))
        .prompt("/compact")
        .wait(json!({"type": "result"}))
        .prompt("again")
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    let told: Vec<String> = requests(&world).iter().map(said).collect();
    assert!(!has_any(&told[2], &API) && told[2].contains("Memory of the project"), "{}", told[2]);
    assert!(has(&told[3], &API), "{}", told[3]);
}

#[test]
fn hooks_are_told_of_every_document_and_why_it_came() {
    let world = with_api(json!([read("api/v1/x.sql"), say("ok")]));
    let hooks = json!({"hooks": {"InstructionsLoaded": [
        {"matcher": "nested_traversal|path_glob_match|include", "hooks": [{"type": "command", "command": "cat >> heard; echo >> heard"}]}
    ]}});
    let outcome = finish(streaming(&world, "hi").args(["--settings", &hooks.to_string()]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let heard = world.read("heard").expect("hooks ran");
    let heard: Vec<Value> = heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told = |name: &str| {
        let file = world.wd().join(name);
        heard.iter().find(|input| input["file_path"] == json!(file)).unwrap_or_else(|| panic!("{name}: {heard:?}"))
    };
    let trigger = json!(world.wd().join("api/v1/x.sql"));
    let memory = told("api/CLAUDE.md");
    assert_eq!((&memory["load_reason"], &memory["memory_type"]), (&json!("nested_traversal"), &json!("Project")));
    assert_eq!(memory["trigger_file_path"], trigger);
    assert_eq!(told("api/more.md")["parent_file_path"], json!(world.wd().join("api/CLAUDE.md")));
    assert_eq!(told("docs/imported.md")["load_reason"], "include");
    let rule = told(".claude/rules/sql.md");
    assert_eq!((&rule["globs"], &rule["trigger_file_path"]), (&json!(["**/*.sql"]), &trigger));
}

fn memory_folder(world: &World) -> std::path::PathBuf {
    let slug: String =
        world.wd().to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    world.home().join(".claude/projects").join(slug).join("memory")
}

/// A project about which something was learnt earlier.
fn with_memory(turns: Value) -> World {
    let world = project(turns);
    let folder = memory_folder(&world);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("MEMORY.md"), "Learnt: builds need make. See topics.md.\n").unwrap();
    std::fs::write(folder.join("topics.md"), "a topic\n").unwrap();
    world
}

#[test]
fn what_was_learnt_earlier_is_known() {
    let world = with_memory(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hi"));
    assert!(said(&requests(&world)[0]).contains("Learnt: builds need make."));
    assert_eq!(super::init(&outcome)["memory_paths"]["auto"], json!(memory_folder(&world)));
}

#[test]
fn its_topics_may_be_read_wherever_the_user_keeps_them_and_nothing_beside_them() {
    let read = |file: &str| call("Read", &json!({"file_path": format!("$HOME/{file}")}));
    let world = project(json!([read("learnt/topics.md"), read("other.md"), say("ok")]));
    std::fs::create_dir(world.home().join("learnt")).unwrap();
    for (name, text) in [("learnt/MEMORY.md", "Learnt elsewhere."), ("learnt/topics.md", "a topic"), ("other.md", "x")]
    {
        std::fs::write(world.home().join(name), text).unwrap();
    }
    let outcome = finish(streaming(&world, "hi").args(["--settings", r#"{"autoMemoryDirectory":"~/learnt"}"#]));
    assert!(said(&requests(&world)[0]).contains("Learnt elsewhere."));
    let results = tool_results(&outcome);
    assert!(results[0].contains("a topic") && results[1].contains("was not run"), "{results:?}");
}

/// A repository that could choose the folder could have everything in it read.
#[test]
fn a_folder_does_not_choose_where_the_automatic_memory_is() {
    let world = project(json!([say("ok")]));
    std::fs::write(world.home().join("MEMORY.md"), "Not for this project.").unwrap();
    let home = world.home().display().to_string();
    add(&world, ".claude/settings.json", &json!({"autoMemoryDirectory": home}).to_string());
    finish(streaming(&world, "hi"));
    assert!(!said(&requests(&world)[0]).contains("Not for this project."));
}

#[test]
fn automatic_memory_can_be_switched_off_and_is_not_for_sub_agents() {
    let world = with_memory(json!([say("ok"), say("ok")]));
    finish(streaming(&world, "hi").args(["--settings", r#"{"autoMemoryEnabled":false}"#]));
    finish(streaming(&world, "hi").env("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"));
    assert!(requests(&world).iter().all(|request| !said(request).contains("Learnt:")));
    let task = json!({"description": "review it", "prompt": "look", "subagent_type": "reviewer"});
    let world = with_memory(json!([call("Agent", &task), say("seen"), say("done")]));
    finish(streaming(&world, "hi"));
    let told: Vec<String> = requests(&world).iter().map(said).collect();
    assert!(told[0].contains("Learnt:") && !told[1].contains("Learnt:"));
}

#[test]
fn a_client_that_asks_how_full_the_window_is_learns_of_them() {
    let world = with_api(json!([read("api/v1/x.sql"), say("ok")]));
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .prompt("hi")
        .wait(json!({"type": "result"}))
        .send(json!({"type": "control_request", "request_id": "u", "request": {"subtype": "get_context_usage"}}))
        .wait(json!({"type": "control_response"}));
    let outcome = finish(run.close());
    let events = outcome.events();
    let answer = events.iter().find(|event| event["type"] == "control_response").expect("an answer");
    let usage = &answer["response"]["response"];
    let files = usage["memoryFiles"].to_string();
    assert!(files.contains("CLAUDE.md") && files.contains("api/more.md") && files.contains("rules/sql.md"), "{files}");
    assert!(usage["mcpTools"].to_string().contains("mcp__notes__look"), "{usage}");
    assert!(usage["agents"].to_string().contains("reviewer"));
}
