use super::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn every_recording_of_the_repository_can_be_played() {
    let captures = load_dir(&dir()).unwrap();
    assert_eq!(captures.len(), 41);
    for capture in &captures {
        Script::from_value(capture.model_turns.clone()).unwrap_or_else(|error| panic!("{}: {error}", capture.name));
        for step in &capture.stdin {
            parse_step(step, &[]).unwrap_or_else(|error| panic!("{}: {error}", capture.name));
        }
    }
}

fn lines(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| event.as_str().map_or_else(|| event.to_string(), str::to_owned)).collect()
}

#[test]
fn events_must_come_in_order_and_others_may_stand_between() {
    let actual =
        lines(&[json!({"type": "a", "x": 1}), json!("plain"), json!({"type": "b"}), json!({"type": "a", "x": 2})]);
    for expected in [
        vec![],
        vec![json!({"type": "a"}), json!({"type": "a", "x": 2})],
        vec![json!({"text": "plain"}), json!({"type": "b"})],
    ] {
        assert_eq!(missing_event(&expected, &actual), None, "{expected:?}");
    }
    for (expected, problem) in [
        (vec![json!({"type": "b"}), json!({"type": "a", "x": 1})], "event 2 of 2 did not come after line 3"),
        (vec![json!({"type": "a", "x": 3})], "x: expected 3, got 1"),
        (vec![json!({"type": "c"})], "none of its type came"),
        (vec![json!({"text": "Plain"})], "event 1 of 1"),
    ] {
        let found = missing_event(&expected, &actual).unwrap();
        assert!(found.contains(problem), "{expected:?}: {found}");
    }
}

/// A binary that answers as the recording says, or nearly.
fn fake(said: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fake");
    let script = format!(
        "#!/bin/sh\nread line\nprintf '{{\"type\":\"result\",\"cwd\":\"%s\",\"said\":\"{said}\",\"args\":\"%s\",\"session_id\":\"s1\"}}\\n' \"$PWD\" \"$*\"\ntouch made.txt\n"
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

#[test]
fn a_recording_passes_or_says_what_differs() {
    let capture: Capture = serde_json::from_value(json!({
        "args": ["--resume", "$SID"], "env": {}, "files": {"a.txt": "x"}, "before": [["first"]],
        "stdin": [["send", {"type": "user"}], ["wait", {"type": "result"}], ["close"]],
        "model_turns": [], "exit_code": 0, "stderr_empty": true,
        "stdout": [{"type": "result", "cwd": "$WD", "said": "yes", "args": "--resume s1", "session_id": "<any>"}],
        "files_after": {"made.txt": "", "a.txt": "x", "b.txt": null},
    }))
    .unwrap();
    let (_dir, good) = fake("yes");
    assert_eq!(run(&capture, &good), Ok(()));
    let (_dir, bad) = fake("no");
    let report = run(&capture, &bad).unwrap_err();
    assert!(report.contains("said: expected \"yes\", got \"no\""), "{report}");
    let failing = Capture { exit_code: 1, stderr_empty: false, ..capture };
    let report = run(&failing, &good).unwrap_err();
    assert!(report.contains("exit code: expected 1, got Some(0)") && report.contains("stderr: expected some text"));
}
