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
        "$ ralph 5 --check 'sh test.sh'",
        "── iteration 1 of 5 ──",
        "  I will run the test and read the code it tests.",
        "  ● Bash   sh test.sh",
        "  ● Read   sum.sh",
        "── iteration 2 of 5 ──",
        "  ● Edit   sum.sh",
        "  ✗ check: sh test.sh",
        "  FAILED: sum 1 2 3 is 4, not 6",
        "iteration 2: not done",
        "── iteration 3 of 5 ──",
        "  ● Edit   sum.sh",
        "  ● Bash   sh test.sh",
        "  ✓ check: sh test.sh",
        "done: the agent says so, and 1 of 1 checks agree (3 iterations",
    ] {
        let found = lines[at..].iter().position(|line| line.starts_with(expected));
        at += found.unwrap_or_else(|| panic!("{expected:?} does not follow line {at}: {lines:#?}")) + 1;
    }
    assert_eq!(lines.last(), Some(&format!("Replay it: cd {folder} && ralph --replay")));
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
    assert!(outcome.lines.last().unwrap().starts_with("Replay it: "));
}
