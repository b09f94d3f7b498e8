use super::*;
use crate::Workspace;
use crate::testing::Bench;
use crate::tool::InputSchema;
use policy::{Targets, names};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn every_schema_is_closed_and_explains_its_fields() {
    for spec in builtin().map(Tool::spec) {
        let InputSchema::Text(text) = spec.schema else { panic!("{} has no constant schema", spec.name) };
        let schema: Value = serde_json::from_str(text).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{field}", spec.name);
            assert!(property["type"].is_string(), "{}.{field}", spec.name);
        }
        assert!(spec.description.lines().count() <= 6, "{}", spec.name);
        assert_eq!(spec.unknown_keywords(), Vec::<String>::new(), "{}", spec.name);
        // The constant goes into requests as it is, so there is nothing in it to leave out.
        assert_eq!(text, schema.to_string(), "{}", spec.name);
        assert_eq!(serde_json::to_string(&spec.schema).unwrap(), text, "{}", spec.name);
    }
}

#[test]
fn edit_calls_show_replace_all_first() {
    let input = json!({"file_path":"/a","old_string":"x","new_string":"y"});
    let shown = |input: &Value| edit::Edit.validate("Edit", input).unwrap().to_string();
    assert_eq!(shown(&input), r#"{"replace_all":false,"file_path":"/a","old_string":"x","new_string":"y"}"#);
    let input = json!({"file_path":"/a","old_string":"x","new_string":"y","replace_all":true});
    assert_eq!(shown(&input), r#"{"replace_all":true,"file_path":"/a","old_string":"x","new_string":"y"}"#);
}

#[test]
fn every_tool_is_found_by_each_of_its_names() {
    for tool in builtin() {
        let entry = tool.spec().entry;
        for name in entry.aliases.iter().chain([&entry.name]) {
            assert_eq!(find(name).map(|found| &*found.spec().name), Some(entry.name), "{name}");
        }
    }
    assert!(find("Frobnicate").is_none());
}

/// A name stands once: a tool whose name is in the table of `policy` uses that row.
#[test]
fn no_tool_has_a_second_row() {
    for entry in builtin().map(|tool| tool.spec().entry) {
        assert_eq!(names::find_for_rules(entry.name).unwrap_or(entry), entry);
    }
}

fn targets(tool: &str, input: &Value, workspace: &Workspace) -> Result<Vec<crate::Target>, crate::InputError> {
    find(tool).unwrap().targets(input, workspace).map(|targets| targets.paths)
}

#[test]
fn calls_name_the_paths_they_touch() {
    let bench = Bench::new(&[("src/lib.rs", "")]);
    let root = bench.root();
    for (tool, input, path, write) in [
        ("Read", json!({"file_path":"src/lib.rs"}), "src/lib.rs", false),
        ("Edit", json!({"file_path":"src/lib.rs"}), "src/lib.rs", true),
        ("Write", json!({"file_path":"new"}), "new", true),
        ("NotebookEdit", json!({"notebook_path":"n.ipynb"}), "n.ipynb", true),
        ("Grep", json!({"pattern":"x"}), "", false),
        ("Grep", json!({"pattern":"x","path":"src"}), "src", false),
        ("Glob", json!({"pattern":"*"}), "", false),
        ("Glob", json!({"pattern":"src/*.rs"}), "", false),
        ("Glob", json!({"pattern":"*","path":"src"}), "src", false),
        ("Glob", json!({"pattern":format!("{}/src/*.rs", root.display())}), "src", false),
    ] {
        let found = targets(tool, &input, &bench.ctx.workspace).unwrap();
        let [target] = found.as_slice() else { panic!("{tool} {input}: {found:?}") };
        assert_eq!((&target.real, target.write), (&root.join(path).components().collect(), write), "{tool} {input}");
    }
    assert_eq!(targets("TodoWrite", &json!({}), &bench.ctx.workspace), Ok(Vec::new()));
}

/// A search that begins elsewhere is judged elsewhere.
#[test]
fn glob_patterns_that_leave_the_folder_move_the_root() {
    let bench = Bench::new(&[]);
    let root = bench.root();
    for (pattern, real) in [
        ("/etc/*.conf", Path::new("/etc").to_owned()),
        ("/*", "/".into()),
        ("/etc/passwd", "/etc".into()),
        ("../*", root.parent().unwrap().to_owned()),
        ("./../x/**", root.parent().unwrap().join("x")),
        ("~/*", root.join("home")),
    ] {
        let found = targets("Glob", &json!({"pattern": pattern}), &bench.ctx.workspace).unwrap();
        assert_eq!(found[0].real, real, "{pattern}");
    }
    for pattern in ["", "a/../../*", "**/../x", "a\0b", "../", "{..,a}/../x"] {
        assert!(targets("Glob", &json!({"pattern": pattern}), &bench.ctx.workspace).is_err(), "{pattern:?}");
    }
}

#[tokio::test]
async fn a_call_without_judged_paths_does_not_run() {
    let bench = Bench::new(&[("a", "x")]);
    let input = json!({"file_path": bench.path("a")});
    let call = Invocation { tool_use_id: "t", input: &input, targets: &Targets::default(), run: None };
    assert!(run(find("Read").unwrap(), call, &bench.ctx).await.is_error());
}
