use super::*;
use serde_json::json;

fn tool(name: &str, input: Value) -> Tool {
    let call = ToolCall { iteration: 1, id: "t".into(), name: name.into(), input, parent: None };
    Tool::new(&call, 0, "/home/me/repo")
}

#[test]
fn a_call_in_one_line() {
    for (name, input, shown) in [
        ("Read", json!({"file_path": "/home/me/repo/src/a.rs", "offset": 120, "limit": 60}), "src/a.rs  120–180"),
        ("Read", json!({"file_path": "/etc/hosts"}), "/etc/hosts"),
        ("Bash", json!({"command": "cd /home/me/repo && ls\nrm x"}), "cd /home/me/repo && ls␊rm x"),
        ("Bash", json!({"command": "cat /home/me/repo/x"}), "cat x"),
        ("Grep", json!({"pattern": "fn", "path": "/home/me/repo/src"}), "fn  in src"),
        ("Glob", json!({"pattern": "**/*.rs"}), "**/*.rs"),
        ("Glob", json!({"pattern": "**/*.rs", "path": "/home/me/repo/"}), "**/*.rs"),
        ("Task", json!({"prompt": "long", "description": "look around"}), "look around"),
        ("TodoWrite", json!({"todos": [{"status": "completed"}, {"status": "pending"}]}), "1/2 done"),
        ("WebFetch", json!({"url": "https://example.com", "prompt": "x"}), "https://example.com"),
        ("LS", json!({"path": "/home/me/repo"}), "."),
        ("Odd", json!([1, 2]), ""),
        ("Odd", json!(null), ""),
        ("Bash", json!({"command": "echo \u{1b}[2J\u{202e}"}), "echo ␛[2J⟨U+202E⟩"),
    ] {
        assert_eq!(tool(name, input.clone()).subject, shown, "{name} {input}");
    }
    assert_eq!(tool("mcp__git__log", json!({})).name, "git:log");
}

#[test]
fn an_edit_shows_what_it_changes() {
    let diff = tool("Edit", json!({"old_string": "a\nb\nc\nd", "new_string": "a\nb\nX\nY\nd"})).diff.unwrap();
    let row = |side, text: &str| (side, text.to_owned());
    assert_eq!(
        diff,
        Diff {
            added: 2,
            removed: 1,
            rows: vec![
                row(Side::Same, "b"),
                row(Side::Removed, "c"),
                row(Side::Added, "X"),
                row(Side::Added, "Y"),
                row(Side::Same, "d")
            ]
        }
    );
}

#[test]
fn repeated_rows_are_not_counted_twice() {
    let diff = tool("Edit", json!({"old_string": "a\na", "new_string": "a\na\na"})).diff.unwrap();
    assert_eq!((diff.added, diff.removed), (1, 0));
}

#[test]
fn a_huge_file_keeps_its_count_but_not_its_rows() {
    let diff = tool("Write", json!({"content": "x\n".repeat(10_000)})).diff.unwrap();
    assert_eq!((diff.added, diff.rows.len()), (10_000, DIFF_ROWS_MAX));
}

#[test]
fn output_is_bounded_and_harmless() {
    let mut tool = tool("Bash", json!({}));
    tool.finish(Status::Failed, &format!("\u{1b}[31mE\u{7}\n{}", "x".repeat(100_000)), 7);
    assert!(tool.output.starts_with("E␇\n") && tool.output.len() < OUTPUT_MAX + 64);
    assert_eq!((tool.status, tool.ended), (Status::Failed, Some(7)));
}

#[test]
fn answers_are_told_to_people() {
    for (output, shown) in [
        ("<tool_use_error>No such tool</tool_use_error>", "No such tool"),
        ("no such file: /home/me/repo/src/a.rs", "no such file: src/a.rs"),
        ("<tool_use_error>open", "<tool_use_error>open"),
    ] {
        assert_eq!(told(output, "/home/me/repo"), shown);
    }
    assert_eq!(told("/a", ""), "/a");
}
