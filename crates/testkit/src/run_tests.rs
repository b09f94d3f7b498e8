use super::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// A shell script in place of the binary.
struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new(script: &str) -> Self {
        let fake = Self { dir: tempfile::tempdir().unwrap() };
        let path = fake.dir.path().join("fake");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        fake
    }

    fn run(&self) -> Run {
        Run::new(&self.dir.path().join("fake"), self.dir.path()).env("PATH", "/usr/bin:/bin")
    }
}

#[test]
fn a_dialogue_waits_for_each_event_and_names_the_request() {
    let fake = Fake::new(
        "echo '{\"type\":\"control_request\",\"request_id\":\"r1\",\"session_id\":\"s1\"}'; read first
         echo '{\"type\":\"control_request\",\"request_id\":\"r2\"}'; read second
         printf '{\"type\":\"result\",\"said\":[%s,%s]}\\n' \"$first\" \"$second\"; cat; echo rest >&2; exit 3",
    );
    let ask = json!({"type": "control_request"});
    let outcome = fake
        .run()
        .wait(ask.clone())
        .send(json!({"id": "$REQ"}))
        .wait(ask)
        .send(json!({"id": "$REQ", "s": "$SID"}))
        .wait(json!({"type": "result"}))
        .close()
        .finish()
        .unwrap();
    assert_eq!(outcome.result().unwrap()["said"], json!([{"id": "r1"}, {"id": "r2", "s": "s1"}]));
    assert_eq!((outcome.code, &*outcome.stderr, outcome.timed_out), (Some(3), "rest", false));
    assert_eq!((outcome.session_id().as_deref(), outcome.unmet.len(), outcome.lingered), (Some("s1"), 0, false));
}

#[test]
fn a_run_that_hangs_is_killed_with_all_it_started() {
    let fake = Fake::new("sleep 300 & wait");
    let outcome = fake.run().deadline(Duration::from_millis(300)).finish().unwrap();
    assert!(outcome.timed_out && outcome.elapsed < Duration::from_secs(30));
    assert_eq!((outcome.code, outcome.signal), (None, Some(9)));
    assert!(!outcome.lingered, "the child held stdout, which closed when it died");
}

#[test]
fn a_wait_that_cannot_be_met_is_reported_when_the_pipe_closes() {
    let outcome = Fake::new("echo '{\"type\":\"other\"}'").run().wait(json!({"type": "result"})).finish().unwrap();
    assert_eq!((outcome.unmet, outcome.code), (vec![json!({"type": "result"})], Some(0)));
    assert!(outcome.elapsed < DEADLINE);
}

#[test]
fn signals_arrive_and_the_environment_is_empty_but_for_what_was_given() {
    let fake = Fake::new("trap 'env; exit 143' TERM; echo '{\"ready\":1}'; while :; do sleep 0.01; done");
    let outcome = fake.run().env("A", "1").env("A", "2").wait(json!({"ready": 1})).signal(15).finish().unwrap();
    assert_eq!(outcome.code, Some(143));
    assert!(outcome.lines.contains(&"A=2".into()) && !outcome.lines.iter().any(|line| line.starts_with("HOME=")));
}

#[test]
fn what_outlives_the_run_is_noticed_and_ended() {
    let outcome = Fake::new("sleep 300 & exit 0").run().finish().unwrap();
    assert!(outcome.lingered);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn stdin_can_be_held_open_for_ever() {
    let fake = Fake::new("echo $0; exec 1>&-; read line || exit 5; exit 6");
    let outcome = fake.run().hold().deadline(Duration::from_secs(20)).finish().unwrap();
    assert_eq!(outcome.code, Some(5), "stdin closes only after stdout has");
    let named = Run::new(Path::new("/bin/sh"), Path::new("/")).named("me").args(["-c", "echo $0"]).finish().unwrap();
    assert_eq!(named.lines, ["me"]);
}

#[test]
fn a_missing_binary_is_an_error_that_names_it() {
    let error = Run::new(Path::new("/nonexistent/claude"), Path::new("/")).finish().unwrap_err();
    assert!(error.to_string().contains("/nonexistent/claude"));
}
