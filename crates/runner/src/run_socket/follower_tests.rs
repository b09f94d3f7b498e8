use super::*;
use cycle::{IterationStarted, Receipt, Verbatim};
use std::io::Write as _;
use std::path::PathBuf;

fn said(iteration: u32, text: &str) -> String {
    let line = serde_json::json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}});
    EventKind::Agent { iteration, line: Verbatim::new(&line.to_string()) }.at(1).to_line()
}

fn started(iteration: u32) -> String {
    let start =
        IterationStarted { iteration, attempt: 1, model: "m".into(), session: None, strategy: None, prompt_chars: 1 };
    EventKind::IterationStarted(start).at(1).to_line()
}

fn ended(iteration: u32) -> String {
    EventKind::IterationEnded { iteration, receipt: Box::new(Receipt::default()) }.at(1).to_line()
}

fn recording() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        started(1),
        said(1, "one"),
        ended(1),
        "{\"at\":1,\"ty".into(),
        started(2),
        said(2, "two"),
        said(2, "three"),
        ended(2),
    ];
    let file = dir.path().join("events.ndjson");
    std::fs::write(&file, format!("{}\n", lines.join("\n"))).unwrap();
    (dir, file)
}

fn all(follower: &mut Follower) -> Vec<(u64, u32, String)> {
    let next = || follower.next_event().unwrap();
    let name = |event: &LoopEvent| -> String {
        let value: serde_json::Value = serde_json::from_str(&event.to_line()).unwrap();
        value["type"].as_str().unwrap().to_owned()
    };
    std::iter::from_fn(next).map(|one| (one.seq, one.index, name(&one.event))).collect()
}

#[test]
fn events_have_the_numbers_of_their_lines_from_wherever_they_are_read() {
    let (_dir, file) = recording();
    let whole = all(&mut Follower::open(&file, cycle::unpriced, (1, 0)).unwrap());
    let kinds: Vec<&str> = whole.iter().map(|(.., kind)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "iteration_started",
            "agent",
            "agent_text",
            "iteration_ended",
            "iteration_started",
            "agent",
            "agent_text",
            "agent",
            "agent_text",
            "iteration_ended"
        ]
    );
    assert_eq!(whole[2], (2, 1, "agent_text".into()));
    assert_eq!(whole[4].0, 5, "a torn line has a number and no event");
    for (at, (seq, index, _)) in whole.iter().enumerate() {
        let rest = all(&mut Follower::open(&file, cycle::unpriced, (*seq, *index)).unwrap());
        assert_eq!(rest, whole[at..], "from {seq}.{index}");
    }
    assert!(all(&mut Follower::open(&file, cycle::unpriced, (9, 0)).unwrap()).is_empty());
}

#[test]
fn the_last_iteration_begins_with_its_own_first_line() {
    let (_dir, file) = recording();
    let mut follower = Follower::last_iteration(&file, cycle::unpriced).unwrap();
    assert_eq!(follower.seq(), 4);
    let whole = all(&mut Follower::open(&file, cycle::unpriced, (1, 0)).unwrap());
    assert_eq!(all(&mut follower), whole[4..]);
    std::fs::write(&file, format!("{}\n", EventKind::Paused.at(5).to_line())).unwrap();
    let mut follower = Follower::last_iteration(&file, cycle::unpriced).unwrap();
    assert_eq!(all(&mut follower), [(1, 0, "paused".into())]);
}

#[test]
fn a_recording_that_grows_is_read_on_in_whole_lines() {
    let (_dir, file) = recording();
    let mut follower = Follower::open(&file, cycle::unpriced, (10, 0)).unwrap();
    assert!(all(&mut follower).is_empty());
    let mut growing = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    let paused = EventKind::Paused.at(5).to_line();
    growing.write_all(format!("{paused}\n{}", &paused[..5]).as_bytes()).unwrap();
    assert!(all(&mut follower).is_empty(), "line 9 is not wanted, and line 10 is not whole");
    growing.write_all(format!("{}\n", &paused[5..]).as_bytes()).unwrap();
    assert_eq!(all(&mut follower), [(10, 0, "paused".into())]);
}

#[test]
fn a_line_without_end_costs_no_memory_and_keeps_its_number() {
    let (_dir, file) = recording();
    let mut growing = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    growing.write_all(&vec![b'x'; LINE_MAX + 10]).unwrap();
    growing.write_all(format!("\n{}\n", EventKind::Paused.at(5).to_line()).as_bytes()).unwrap();
    for from in [9, 10] {
        let mut follower = Follower::open(&file, cycle::unpriced, (from, 0)).unwrap();
        assert_eq!(all(&mut follower), [(10, 0, "paused".into())]);
    }
}
