use super::*;

#[test]
fn calls_have_titles_kinds_and_places() {
    let cwd = Path::new("/w");
    for (name, input, title, kind, location) in [
        ("Read", json!({"file_path": "/w/a.rs"}), "Read a.rs", "read", json!({"path": "/w/a.rs", "line": 1})),
        (
            "Read",
            json!({"file_path": "/x/a", "offset": 5, "limit": 10}),
            "Read /x/a (5 - 14)",
            "read",
            json!({"path": "/x/a", "line": 5}),
        ),
        (
            "Read",
            json!({"file_path": "/w/a", "offset": 5}),
            "Read a (from line 5)",
            "read",
            json!({"path": "/w/a", "line": 5}),
        ),
        ("Write", json!({}), "Preparing file…", "edit", Value::Null),
        ("Write", json!({"file_path": "b", "content": "x"}), "Write b", "edit", json!({"path": "/w/b"})),
        ("Edit", json!({"file_path": "/w/c"}), "Edit c", "edit", json!({"path": "/w/c"})),
        ("Bash", json!({}), "Terminal", "execute", Value::Null),
        ("Bash", json!({"command": "ls -l"}), "ls -l", "execute", Value::Null),
        ("Glob", json!({"path": "/w/s", "pattern": "*.rs"}), "Find `/w/s` `*.rs`", "search", json!({"path": "/w/s"})),
        ("Grep", json!({"pattern": "x", "-i": true, "path": "src"}), "grep -i \"x\" src", "search", Value::Null),
        (
            "Grep",
            json!({"pattern": "x", "-C": 2, "output_mode": "count", "head_limit": 5, "glob": "*.c", "type": "c", "multiline": true}),
            "grep -C 2 -c | head -5 --include=\"*.c\" --type=c -P \"x\"",
            "search",
            Value::Null,
        ),
        ("WebFetch", json!({"url": "http://h"}), "Fetch http://h", "fetch", Value::Null),
        ("WebSearch", json!({"query": "q"}), "Search \"q\"", "fetch", Value::Null),
        ("Task", json!({"description": "look"}), "look", "think", Value::Null),
        ("Skill", json!({"skill": "s"}), "Load skill: s", "other", Value::Null),
        ("ExitPlanMode", json!({"plan": "p"}), "Approve Plan", "switch_mode", Value::Null),
        ("AskUserQuestion", json!({"questions": [{"question": "Which?"}]}), "Which?", "other", Value::Null),
        ("mcp__s__t", json!({}), "mcp__s__t", "other", Value::Null),
    ] {
        let described = describe(name, &input, cwd);
        assert_eq!((described.title.as_str(), described.kind), (title, kind), "{name} {input}");
        assert_eq!(described.locations.first().cloned().unwrap_or_default(), location, "{name} {input}");
    }
    assert_eq!(describe("Bash", &json!({"command": "x".repeat(999)}), cwd).title.chars().count(), TITLE_MAX);
}

#[test]
fn edits_are_diffs_before_and_after() {
    let edit = describe("Edit", &json!({"file_path": "a", "old_string": "o", "new_string": "n"}), Path::new("/w"));
    assert_eq!(edit.content, [json!({"type": "diff", "path": "/w/a", "oldText": "o", "newText": "n"})]);
    let patch = json!({"filePath": "/w/a", "structuredPatch": [
        {"newStart": 3, "lines": [" x", "-o", "+n", "\\ No newline at end of file"]}]});
    let done = finished("Edit", &json!("ok"), false, &patch);
    assert_eq!(done.content, Some(vec![json!({"type": "diff", "path": "/w/a", "oldText": "x\no", "newText": "x\nn"})]));
    assert_eq!(done.locations, Some(vec![json!({"path": "/w/a", "line": 3})]));
    let created = json!({"type": "create", "filePath": "/w/b", "content": "c"});
    let done = finished("Write", &json!("ok"), false, &created);
    assert_eq!(done.content, Some(vec![json!({"type": "diff", "path": "/w/b", "oldText": null, "newText": "c"})]));
}

#[test]
fn results_are_shown_in_fences_that_hold() {
    let text = |done: &Finished| done.content.as_ref().unwrap()[0]["content"]["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&finished("Bash", &json!("a\n"), false, &Value::Null)), "```console\na\n```");
    assert_eq!(text(&finished("Bash", &json!("no"), true, &Value::Null)), "```\nno\n```");
    assert_eq!(text(&finished("Read", &json!("a ``` b"), false, &Value::Null)), "````\na ``` b\n````");
    assert_eq!(finished("Bash", &json!(""), false, &Value::Null), Finished::default());
    let picture = json!([{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0"}}]);
    let done = finished("Read", &picture, false, &Value::Null);
    assert_eq!(done.content.unwrap()[0]["content"], json!({"type": "image", "data": "R0", "mimeType": "image/gif"}));
}
