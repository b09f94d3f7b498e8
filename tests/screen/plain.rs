//! Without a terminal: lines that read well in a log.

use crate::world::{folder, ralph};

#[test]
fn the_demo_in_a_log() {
    let world = folder();
    let outcome = ralph(&world, &["demo"]).close().finish().unwrap();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    insta::with_settings!({filters => vec![
        (r"(/[^ ]*)?/ralph-demo-[0-9a-f]+", "<folder>"),
        (r"\d{8}-\d{6}", "<run>"),
        (r"\d+\.\d s|\b\d+s", "<time>"),
    ]}, {
        insta::assert_snapshot!("demo", outcome.lines.join("\n"));
    });
    assert!(outcome.lines.iter().all(|line| !line.ends_with(' ') && !line.contains('\u{1b}')));
}
