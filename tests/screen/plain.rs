//! Without a terminal: lines that read well in a log.

use crate::world::{folder, ralph};
use testkit::Terminal;

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

#[test]
fn a_terminal_that_cannot_draw_gets_lines() {
    let world = folder();
    let left = Terminal::start(&ralph(&world, &["demo"]).env("TERM", "dumb"), 120, 60).unwrap().finish().unwrap();
    assert_eq!((left.code, left.updates.len()), (Some(0), 0));
    assert!(left.screen.shows("── iteration 3 of 5 ──"), "{}", left.screen.text());
    assert!(!left.bytes.contains(&0x1b), "no sequences at all");
}
