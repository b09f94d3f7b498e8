use crate::Run;
use std::path::Path;

/// The bits of the signals that a program under test is started with as ignored.
fn ignored_by_a_program() -> u64 {
    let outcome =
        Run::new(Path::new("/bin/grep"), Path::new("/")).args(["SigIgn:", "/proc/self/status"]).finish().unwrap();
    let (_, bits) = outcome.lines[0].split_once(':').unwrap();
    u64::from_str_radix(bits.trim(), 16).unwrap()
}

#[test]
#[ignore = "started by the test below, with signals ignored"]
fn inside_nohup() {
    assert_eq!(ignored_by_a_program() & 0b111, 0);
}

#[test]
fn programs_under_test_get_signals_although_nohup_ignores_them() {
    let me = std::env::current_exe().unwrap();
    let script = "trap '' HUP INT QUIT; exec \"$0\" --exact signals::tests::inside_nohup --include-ignored";
    let outcome = Run::new(Path::new("/bin/sh"), Path::new("/"))
        .args(["-c".to_owned(), script.to_owned(), me.display().to_string()])
        .finish()
        .unwrap();
    let said = outcome.lines.join("\n");
    assert_eq!(outcome.code, Some(0), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}
