//! The schema is API: lines written once must be readable for ever.

use super::*;
use crate::{IterationFailure, IterationOutcome};

fn round(event: &LoopEvent) {
    let line = event.to_line();
    assert_eq!(&LoopEvent::parse(&line).expect(&line), event, "{line}");
}

#[test]
fn events_read_back_as_they_were_written() {
    let receipt = Receipt {
        outcome: IterationOutcome::Failed { failure: IterationFailure::Silence },
        cost_usd: 0.25,
        ..Receipt::default()
    };
    for kind in [
        EventKind::Paused,
        EventKind::Agent {
            iteration: 2,
            line: Verbatim::new(r#"{"type":"x",  "n":1.50,"big":123456789012345678901234567890}"#),
        },
        EventKind::Agent { iteration: 2, line: Verbatim::new("no json") },
        EventKind::IterationEnded { iteration: 1, receipt: Box::new(receipt) },
        EventKind::Warning { iteration: None, text: "w".into() },
        EventKind::Waiting { iteration: 3, until: 9, reason: "limit".into() },
        EventKind::AgentText(AgentText { iteration: 1, text: "hi".into(), partial: true, parent: Some("t".into()) }),
    ] {
        round(&kind.at(1_763_000_000_000));
    }
}

#[test]
fn an_agents_line_is_kept_word_for_word() {
    let raw = r#"{"type":"x",  "n":1.50,"big":123456789012345678901234567890}"#;
    let line = EventKind::Agent { iteration: 1, line: Verbatim::new(raw) }.at(5).to_line();
    assert_eq!(line, format!(r#"{{"at":5,"type":"agent","iteration":1,"line":{raw}}}"#));
}

#[test]
fn the_verdicts_are_the_exit_codes_of_the_design() {
    let table = [
        (VerdictKind::Done, 0),
        (VerdictKind::Failed, 1),
        (VerdictKind::Limit, 2),
        (VerdictKind::Blocked, 3),
        (VerdictKind::Stuck, 3),
        (VerdictKind::Interrupted, 130),
        (VerdictKind::Terminated, 143),
    ];
    for (verdict, code) in table {
        assert_eq!((verdict.exit().code(), serde_json::to_value(verdict).unwrap()), (code, verdict.word().into()));
    }
}
