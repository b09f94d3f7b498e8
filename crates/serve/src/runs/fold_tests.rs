use super::*;
use cycle::{Question, QuestionAbout, Verbatim};
use std::io::Write as _;

fn started(iteration: u32) -> EventKind {
    let start = IterationStarted { iteration, attempt: 1, ..IterationStarted::default() };
    EventKind::IterationStarted(start)
}

fn ended(iteration: u32) -> EventKind {
    let receipt = Receipt {
        cost_usd: 0.5,
        summary: "did it".into(),
        outcome: cycle::IterationOutcome::Blocked,
        ..Receipt::default()
    };
    EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }
}

#[test]
fn a_recording_is_read_on_and_a_torn_line_waits_for_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.ndjson");
    let mut file = File::create(&path).unwrap();
    let mut fold = RunFold::default();
    let agent = EventKind::Agent { iteration: 1, line: Verbatim::new("{\"type\":\"x\"}") }.at(77).to_line();
    write!(file, "{}\n{agent}\n{}", started(1).at(5).to_line(), &ended(1).at(9).to_line()[..20]).unwrap();
    fold.read_on(&path).unwrap();
    assert_eq!((fold.seq, fold.last_at, fold.receipts.len()), (2, 77, 0));
    writeln!(file, "{}", &ended(1).at(9).to_line()[20..]).unwrap();
    fold.read_on(&path).unwrap();
    assert_eq!((fold.seq, fold.receipts.len(), fold.receipts[0].seq), (3, 1, 3));
    // A line that was torn by a crash has a number and no event.
    write!(file, "{{\"at\":1,\"ty\n{}\n", EventKind::Paused.at(10).to_line()).unwrap();
    fold.read_on(&path).unwrap();
    assert_eq!((fold.seq, fold.state(Some("process 1, run r"))), (5, "paused"));
}

#[test]
fn the_state_says_who_has_to_do_something() {
    let mut fold = RunFold::default();
    let owner = Some("process 12, run r");
    let question =
        Question { iteration: 1, id: "q".into(), about: QuestionAbout::Words, text: "Which?".into(), options: vec![] };
    for (kind, live, left) in [
        (started(1), "working", "unfinished"),
        (EventKind::Question(question), "working", "unfinished"),
        (ended(1), "asking", "unfinished"),
        (EventKind::Answered { id: "q".into(), text: "a".into() }, "working", "unfinished"),
        (EventKind::Waiting { iteration: 2, until: 9, reason: "limit".into() }, "waiting", "unfinished"),
        (started(2), "working", "unfinished"),
        (EventKind::Paused, "paused", "unfinished"),
        (EventKind::Resumed, "working", "unfinished"),
    ] {
        let name = format!("{kind:?}");
        fold.fold(&kind.at(1));
        assert_eq!((fold.state(owner), fold.state(None)), (live, left), "{name}");
    }
    assert_eq!(pid("process 12, run r"), Some(12));
    assert_eq!(pid("'ralph answer'"), None);
}
