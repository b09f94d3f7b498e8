//! Memory, hooks and servers: what is known before the first word.

use super::{described, project, requests, said, streaming};
use crate::common::{call, finish, say, tool_results};
use serde_json::json;

#[test]
fn memory_imports_rules_and_hooks_stand_before_the_prompt() {
    let world = project(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hello there"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let first = said(&requests(&world)[0]);
    for text in [
        "Memory of the project: every file ends with a newline.",
        "Imported memory: tabs are four wide.",
        "Rule of the project: names are English.",
        "Context of the start hook",
        "Context of the prompt hook",
        "hello there",
    ] {
        assert!(first.contains(text), "{text} is missing in {first}");
    }
}

#[test]
fn without_the_project_as_a_source_none_of_it_counts() {
    let world = project(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hello there").args(["--setting-sources", "user"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let first = said(&requests(&world)[0]);
    for text in ["Memory of the project", "Imported memory", "Rule of the project", "Context of the"] {
        assert!(!first.contains(text), "{text} is in {first}");
    }
}

#[test]
fn a_server_of_the_project_brings_its_tools() {
    let world = project(json!([call("mcp__notes__look", &json!({})), say("ok")]));
    let outcome = finish(streaming(&world, "hi").args(["--allowedTools", "mcp__notes"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let requests = requests(&world);
    assert!(described(&requests[0], "mcp__notes__look").contains("looks into the notes"));
    assert!(tool_results(&outcome)[0].contains("a note of the project"));
    assert!(said(&requests[1]).contains("a note of the project"));
}
