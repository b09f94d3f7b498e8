//! `ralph demo`: offline, on a bare machine.

use super::{binary, finish, plain};
use std::path::Path;
use testkit::Run;

#[test]
fn the_demo_mends_a_test_and_shows_how() {
    let world = plain();
    let outcome = finish(world.run(&binary()).named("ralph").args(["demo"]));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{:?}", outcome.lines);
    let lines = &outcome.lines;
    let folder = lines[0].strip_prefix("A scratch project with a failing test, in ").expect("where it is").to_owned();
    let mut at = 0;
    for expected in [
        "$ sh test.sh",
        "FAILED: sum 1 2 3 is 3, not 6",
        "exit 1",
        "$ claude -p \"The test fails. Find out why, mend it, and show that it passes.\" --permission-mode acceptEdits --allowedTools 'Bash(sh test.sh)'",
        "I will run the test and read the code it tests.",
        "● Bash  sh test.sh",
        "● Read  sum.sh",
        "● Edit  sum.sh",
        "    -    while [ $# -gt 1 ]; do",
        "    +    while [ $# -gt 0 ]; do",
        "● Bash  sh test.sh",
        "    ok: sum 1 2 3 is 6",
        "$ sh test.sh",
        "ok: sum 1 2 3 is 6",
        "exit 0",
    ] {
        let found = lines[at..].iter().position(|line| line == expected);
        at += found.unwrap_or_else(|| panic!("{expected:?} does not follow line {at}: {lines:#?}")) + 1;
    }
    assert_eq!(lines.last(), Some(&format!("Mended and checked. The project stays in {folder}")));
    let mended = std::fs::read_to_string(Path::new(&folder).join("sum.sh")).expect("the project stays");
    assert!(mended.contains("[ $# -gt 0 ]"), "{mended}");
    assert!(world.mock().requests().is_empty(), "it asks its own model");
    assert!(world.home().read_dir().unwrap().next().is_none(), "the user's home is not touched");
}

#[test]
fn it_needs_no_home_no_key_and_no_git() {
    let scratch = tempfile::tempdir().unwrap();
    let tools = scratch.path().join("bin");
    std::fs::create_dir(&tools).unwrap();
    for name in ["sh", "bash", "env", "sleep"] {
        let from =
            ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name)).into_iter().find(|path| path.exists());
        std::os::unix::fs::symlink(from.expect("a usual tool"), tools.join(name)).unwrap();
    }
    let run = Run::new(&binary(), scratch.path()).named("ralph").args(["demo"]);
    let outcome =
        finish(run.env("PATH", &tools.display().to_string()).env("TMPDIR", &scratch.path().display().to_string()));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{:#?}", outcome.lines);
    assert!(outcome.lines.last().unwrap().starts_with("Mended and checked."));
}
