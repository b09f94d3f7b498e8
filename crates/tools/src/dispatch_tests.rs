use super::*;
use crate::testing::{Bench, text};
use serde_json::json;
use std::path::Path;

#[test]
fn every_schema_is_closed_and_explains_its_fields() {
    for spec in specs() {
        let schema: Value = serde_json::from_str(spec.schema).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{field}", spec.name);
            assert!(property["type"].is_string(), "{}.{field}", spec.name);
        }
        assert!(spec.description.lines().count() <= 6, "{}", spec.name);
    }
}

#[test]
fn edit_calls_show_replace_all_first() {
    let input = json!({"file_path":"/a","old_string":"x","new_string":"y"});
    let shown = |input: &Value| check_input("Edit", input).unwrap().to_string();
    assert_eq!(shown(&input), r#"{"replace_all":false,"file_path":"/a","old_string":"x","new_string":"y"}"#);
    let input = json!({"file_path":"/a","old_string":"x","new_string":"y","replace_all":true});
    assert_eq!(shown(&input), r#"{"replace_all":true,"file_path":"/a","old_string":"x","new_string":"y"}"#);
}

#[tokio::test]
async fn what_is_no_tool_is_said_so() {
    let bench = Bench::new(&[]);
    let call = Invocation { tool_use_id: "t", name: "Frobnicate", input: &json!({}), targets: &[], run: None };
    let outcome = run(call, &bench.ctx).await;
    assert_eq!(text(&outcome), "<tool_use_error>No such tool available: Frobnicate</tool_use_error>");
    assert!(outcome.is_error());
    assert!(targets("Frobnicate", &json!({}), &bench.ctx.workspace).is_err());
    assert!(check_input("Frobnicate", &json!({})).is_err());
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
    let call = Invocation { tool_use_id: "t", name: "Read", input: &input, targets: &[], run: None };
    assert!(run(call, &bench.ctx).await.is_error());
}
