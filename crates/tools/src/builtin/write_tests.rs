use super::*;
use crate::testing::{Bench, set_modified, text};
use std::os::unix::fs::{PermissionsExt as _, symlink};

async fn put(bench: &Bench, name: &str, content: &str) -> ToolOutcome {
    bench.call("Write", json!({"file_path": bench.path(name), "content": content})).await
}

#[tokio::test]
async fn captured_writes() {
    let bench = Bench::captured();
    let created = put(&bench, "x.txt", "1").await;
    assert_eq!(
        created.structured,
        json!({"type":"create","filePath":bench.path("x.txt"),"content":"1","structuredPatch":[],"originalFile":null,
            "userModified":false})
    );
    bench.call("Read", json!({"file_path": bench.path("a.txt")})).await;
    let updated = put(&bench, "a.txt", "n2\n").await;
    assert_eq!(
        updated.structured,
        json!({"type":"update","filePath":bench.path("a.txt"),"content":"n2\n","structuredPatch":[
                {"oldStart":1,"oldLines":3,"newStart":1,"newLines":1,
                    "lines":["-hello world","-second line","-third","+n2"]}],
            "originalFile":"hello world\nsecond line\nthird\n","userModified":false})
    );
    assert_eq!((bench.file("x.txt"), bench.file("a.txt")), (b"1".to_vec(), b"n2\n".to_vec()));
}

/// What a Read answers after a Write is the content, not a note that nothing changed.
#[tokio::test]
async fn a_written_file_is_known_but_can_be_read() {
    let bench = Bench::captured().older_model();
    assert!(put(&bench, "a.txt", "n\n").await.is_error(), "unread");
    put(&bench, "new", "1\n").await;
    assert!(!put(&bench, "new", "2\n").await.is_error());
    let outcome = bench.call("Read", json!({"file_path": bench.path("new")})).await;
    assert_eq!(text(&outcome), "1\t2\n2\t");
}

#[tokio::test]
async fn partly_read_files_and_notebooks_always_need_the_read() {
    let bench = Bench::new(&[("f", "1\n2\n3\n"), ("n.ipynb", "{\"cells\":[]}")]);
    bench.call("Read", json!({"file_path": bench.path("f"), "limit": 1})).await;
    let refused = put(&bench, "f", "x").await;
    assert!(text(&refused).contains("only part"), "{refused:?}");
    assert!(put(&bench, "n.ipynb", "x").await.is_error());
    bench.call("Read", json!({"file_path": bench.path("f")})).await;
    assert!(!put(&bench, "f", "x").await.is_error());
}

#[tokio::test]
async fn a_file_changed_since_read_is_not_overwritten() {
    let bench = Bench::captured();
    bench.call("Read", json!({"file_path": bench.path("a.txt")})).await;
    set_modified(&bench.root().join("a.txt"), 1);
    let refused = put(&bench, "a.txt", "x").await;
    assert!(refused.is_error() && text(&refused).contains("modified since read"), "{refused:?}");
    assert_eq!(bench.file("a.txt"), b"hello world\nsecond line\nthird\n");
}

#[tokio::test]
async fn encoding_and_mode_stay_and_line_endings_are_the_models() {
    let utf16: Vec<u8> = "\u{feff}old".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bench = Bench::bytes(&[("utf16", &utf16), ("crlf.sh", b"a\r\n")]);
    std::fs::set_permissions(bench.root().join("crlf.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    put(&bench, "utf16", "né").await;
    put(&bench, "crlf.sh", "b\n").await;
    let utf16: Vec<u8> = "\u{feff}né".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!((bench.file("utf16"), bench.file("crlf.sh")), (utf16, b"b\n".to_vec()));
    let mode = std::fs::metadata(bench.root().join("crlf.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[tokio::test]
async fn folders_special_files_and_hanging_links() {
    let bench = Bench::new(&[("dir/f", ""), ("file", "")]);
    symlink("nowhere", bench.root().join("hanging")).unwrap();
    for name in ["dir", "file/below", "/dev/null"] {
        let outcome = bench.call("Write", json!({"file_path": name, "content": "x"})).await;
        assert!(outcome.is_error(), "{name}");
    }
    assert!(!put(&bench, "hanging", "x").await.is_error());
    assert_eq!(bench.file("nowhere"), b"x");
}

#[tokio::test]
async fn a_binary_original_is_left_out() {
    let bench = Bench::bytes(&[("bin", b"a\0b")]);
    let outcome = put(&bench, "bin", "text").await;
    assert_eq!(
        (&outcome.structured["originalFile"], &outcome.structured["structuredPatch"]),
        (&Value::Null, &json!([]))
    );
}
