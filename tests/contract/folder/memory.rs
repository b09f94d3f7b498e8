//! Memory and hooks: what is known before the first word.

use super::{project, requests, said, streaming};
use crate::common::{finish, say};
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
