//! `ralph report`.

use crate::world::{done, folder, looped};
use testkit::World;

const DONE: &str = "result '<promise>COMPLETE</promise>'";

/// A run of two iterations that changed a file, with words that want to be markup.
fn after_a_run() -> World {
    let world = folder();
    let hostile = "</pre><script>alert(1)</script>";
    let script = format!(
        "hear; work; case $n in 1) echo '<b>bold</b>' > new.txt; result '{hostile} still open';; *) {DONE};; esac"
    );
    let outcome = looped(&world, &script, &["5", "--check", "test $(wc -l < work.txt) -gt 1"]).join().unwrap();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    world
}

#[test]
fn a_report_is_one_file_that_holds_what_happened_and_no_script() {
    let world = after_a_run();
    let made = done(&world, &["report", "-o", "out.html"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let page = world.read("out.html").unwrap();
    for part in [
        "Build it",
        "done",
        "wc -l",
        "work.txt",
        "new.txt",
        "&lt;b&gt;bold&lt;/b&gt;",
        "still open",
        "<svg",
        "ralph --replay",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
    assert!(page.contains("default-src 'none'"));
    let printed = done(&world, &["report"]);
    assert_eq!(printed.lines.first().map(String::as_str), Some("<!doctype html>"));
}

#[test]
fn markdown_and_a_picture_come_from_the_same_run() {
    let world = after_a_run();
    let text = done(&world, &["report", "--md"]).lines.join("\n");
    assert!(text.starts_with("# Build it\n\n**done**") && text.contains("| 1 | progress |"), "{text}");
    let picture = done(&world, &["report", "--screen"]).lines.join("\n");
    assert!(picture.starts_with("<svg ") && picture.contains("Build it") && picture.ends_with("</svg>"), "{picture}");
    let unknown = done(&world, &["report", "nosuchrun"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("there is no run nosuchrun"), "{}", unknown.stderr);
    let wrong = done(&world, &["report", "--pdf"]);
    assert!(wrong.code == Some(1) && wrong.stderr.contains("unknown option '--pdf'"), "{}", wrong.stderr);
}
