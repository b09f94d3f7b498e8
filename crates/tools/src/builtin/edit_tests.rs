use super::*;
use crate::testing::{Bench, set_modified, text};
use proptest::prelude::*;
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt as _, symlink};

async fn read(bench: &Bench, name: &str) {
    assert!(!bench.call("Read", json!({"file_path": bench.path(name)})).await.is_error());
}

async fn change(bench: &Bench, name: &str, old: &str, new: &str) -> ToolOutcome {
    bench.call("Edit", json!({"file_path": bench.path(name), "old_string": old, "new_string": new})).await
}

#[tokio::test]
async fn captured_edits() {
    let bench = Bench::captured();
    let path = bench.path("a.txt");
    read(&bench, "a.txt").await;
    let outcome = change(&bench, "a.txt", "second", "2nd").await;
    assert_eq!(
        outcome.structured,
        json!({"filePath":path,"oldString":"second","newString":"2nd",
            "originalFile":"hello world\nsecond line\nthird\n",
            "structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,
                "lines":[" hello world","-second line","+2nd line"," third"]}],
            "userModified":false,"replaceAll":false})
    );
    assert!(change(&bench, "a.txt", "l", "L").await.is_error());
    let all = json!({"file_path": path, "old_string": "l", "new_string": "L", "replace_all": true});
    let outcome = bench.call("Edit", all).await;
    assert_eq!(outcome.structured["replaceAll"], true);
    assert!(change(&bench, "a.txt", "zzz", "y").await.is_error());
    assert!(change(&bench, "a.txt", "a", "a").await.is_error());
    assert_eq!(bench.file("a.txt"), b"heLLo worLd\n2nd Line\nthird\n");
}

#[tokio::test]
async fn older_models_must_read_the_whole_file_first() {
    let bench = Bench::captured().older_model();
    let refused = change(&bench, "a.txt", "second", "2nd").await;
    assert!(text(&refused).contains("not been read"), "{refused:?}");
    for (offset, missing) in [(1, true), (3, false)] {
        bench.call("Read", json!({"file_path": bench.path("a.txt"), "offset": offset, "limit": 2})).await;
        let outcome = change(&bench, "a.txt", "second", "2nd").await;
        assert_eq!(outcome.is_error(), missing, "{outcome:?}");
    }
    assert!(!change(&bench, "a.txt", "2nd", "zweite").await.is_error(), "its own edit needs no new read");
}

#[tokio::test]
async fn newer_models_may_edit_unread_files() {
    let bench = Bench::captured();
    assert!(!change(&bench, "a.txt", "second", "2nd").await.is_error());
}

#[tokio::test]
async fn a_file_changed_since_read_takes_only_an_unmistakable_edit() {
    let bench = Bench::captured();
    let path = bench.root().join("a.txt");
    read(&bench, "a.txt").await;
    std::fs::write(&path, "hello world\nsecond line\nthird\nl\n").unwrap();
    set_modified(&path, 1);
    let missing = change(&bench, "a.txt", "gone", "x").await;
    let all = json!({"file_path": path, "old_string": "l", "new_string": "L", "replace_all": true});
    let many = bench.call("Edit", all).await;
    for refused in [missing, many] {
        assert!(refused.is_error() && text(&refused).contains("modified since read"), "{refused:?}");
    }
    let outcome = change(&bench, "a.txt", "second", "2nd").await;
    assert!(!outcome.is_error() && text(&outcome).contains("modified since read"), "{outcome:?}");
    assert_eq!(bench.file("a.txt"), b"hello world\n2nd line\nthird\nl\n");
}

#[tokio::test]
async fn an_empty_old_string_creates_or_fills() {
    let bench = Bench::new(&[("empty", ""), ("full", "x")]);
    let created = change(&bench, "deep/new", "", "content\n").await;
    assert!(created.structured["originalFile"] == "" && !created.is_error(), "{created:?}");
    assert!(!change(&bench, "empty", "", "filled").await.is_error());
    assert!(change(&bench, "full", "", "y").await.is_error());
    assert!(change(&bench, "missing", "old", "new").await.is_error());
    for (name, content) in [("deep/new", "content\n"), ("empty", "filled"), ("full", "x")] {
        assert_eq!(bench.file(name), content.as_bytes(), "{name}");
    }
}

#[tokio::test]
async fn line_endings_encoding_and_mode_stay() {
    let utf16: Vec<u8> = "\u{feff}a\r\nb\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bench = Bench::bytes(&[
        ("crlf", b"a\r\nb\r\nc\r\n"),
        ("bom", b"\xef\xbb\xbfa\nb\n"),
        ("utf16", &utf16),
        ("latin", b"caf\xe9\na\nb\n"),
        ("mixed", b"a\r\nb\r\nx\na\nb\n"),
    ]);
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(bench.root().join("crlf"), mode).unwrap();
    for name in ["crlf", "bom", "utf16", "latin", "mixed"] {
        assert!(!change(&bench, name, "a\nb", "1\n2").await.is_error(), "{name}");
    }
    assert_eq!(bench.file("crlf"), b"1\r\n2\r\nc\r\n");
    assert_eq!(bench.file("bom"), b"\xef\xbb\xbf1\n2\n");
    let utf16: Vec<u8> = "\u{feff}1\r\n2\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(bench.file("utf16"), utf16);
    assert_eq!(bench.file("latin"), b"caf\xe9\n1\n2\n");
    assert_eq!(bench.file("mixed"), b"a\r\nb\r\nx\n1\n2\n");
    let mode = std::fs::metadata(bench.root().join("crlf")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[tokio::test]
async fn an_edit_through_a_link_changes_the_file_and_keeps_the_link() {
    let bench = Bench::captured();
    symlink("a.txt", bench.root().join("link")).unwrap();
    assert!(!change(&bench, "link", "third", "3rd").await.is_error());
    assert!(bench.root().join("link").is_symlink());
    assert_eq!(bench.file("a.txt"), b"hello world\nsecond line\n3rd\n");
}

#[tokio::test]
async fn what_cannot_be_edited_is_refused() {
    let bench = Bench::bytes(&[("n.ipynb", b"{}"), ("broken16", b"\xff\xfe\x00\xd8"), ("dir/f", b"")]);
    for (name, hint) in [("n.ipynb", "NotebookEdit"), ("broken16", "UTF-16"), ("dir", "directory")] {
        let outcome = change(&bench, name, "a", "b").await;
        assert!(outcome.is_error() && text(&outcome).contains(hint), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_long_original_is_left_out() {
    let content = format!("mark\n{}", "x\n".repeat(600_000));
    let bench = Bench::new(&[("long", &content)]);
    let outcome = change(&bench, "long", "mark", "done").await;
    assert_eq!(outcome.structured["originalFile"], Value::Null);
    assert_eq!(outcome.structured["structuredPatch"][0]["lines"][0], "-mark");
}

proptest! {
    /// On files with one kind of line ending, an edit is a plain replacement in the text without `\r`.
    #[test]
    fn edits_are_replacements(body in "[ab\n]{0,40}", old in "[ab\n]{1,3}", new in "[ab\n]{0,3}", crlf: bool) {
        let stored = if crlf { body.replace('\n', "\r\n") } else { body.clone() };
        match replace(stored.as_bytes(), &old, &new) {
            Err(refusal) => {
                prop_assert_eq!(refusal, Refusal::NotFound);
                prop_assert!(!body.contains(&old));
            }
            Ok(replaced) => {
                prop_assert_eq!(replaced.count, body.matches(&old).count());
                // Without a line ending in the file there is none to keep.
                if body.contains('\n') {
                    let wanted = body.replace(&old, &new);
                    let wanted = if crlf { wanted.replace('\n', "\r\n") } else { wanted };
                    prop_assert_eq!(String::from_utf8(replaced.body).unwrap(), wanted);
                }
            }
        }
    }
}
