//! A reviewer after the checks: approval, findings, no clear answer, a person's word, limits.

use super::*;
use crate::review::{NoOpinion, Opinion};

fn reviewed_plan() -> Plan {
    Plan { has_checks: true, review_rounds: 2, ..Plan::default() }
}

/// Claims to be done, and the checks agree.
fn claims(bench: &mut Bench) {
    bench.said(PROMISE);
    bench.give(Input::ChecksEnded(vec![check(true, "")]));
}

fn says(bench: &mut Bench, opinion: Result<Opinion, NoOpinion>) {
    bench.give(Input::Reviewed { opinion, usd: 0.25, tokens: Tokens::default() });
}

fn finds(bench: &mut Bench, text: &str) {
    claims(bench);
    says(bench, Ok(Opinion::Findings(text.into())));
}

fn is_asked(bench: &Bench) -> bool {
    bench.last.iter().any(|effect| matches!(effect, Effect::Review { .. }))
}

#[test]
fn only_an_approval_is_done_and_findings_are_in_the_next_prompt() {
    let mut bench = Bench::new(reviewed_plan());
    claims(&mut bench);
    assert!(is_asked(&bench) && bench.ended().is_none(), "checks alone are not enough");
    says(&mut bench, Ok(Opinion::Findings("- a.rs:3: off by one".into())));
    let start = bench.started().expect("it goes on");
    assert!(start.notes[0].contains("- a.rs:3: off by one"), "{:?}", start.notes);
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::NotDone);
    claims(&mut bench);
    says(&mut bench, Ok(Opinion::Approved));
    assert_eq!(bench.ended(), Some(VerdictKind::Done));
    assert!(bench.receipts()[1].evidence.iter().any(|words| words == "approved by a reviewer"));
    assert!((bench.state.memory().spent.usd - 1.5).abs() < 1e-9, "two iterations and two reviews");
}

#[test]
fn after_so_many_rounds_a_person_decides() {
    let plan = Plan { attended: true, ..reviewed_plan() };
    let mut bench = Bench::new(plan);
    finds(&mut bench, "- one");
    finds(&mut bench, "- two");
    assert!(bench.state.is_asking(), "{:?}", bench.last);
    // Other words than the approval: the reviewer looks again, with all its rounds.
    bench.give(Input::Answer("mind the gap".into()));
    assert!(bench.started().is_some_and(|start| start.notes.iter().any(|note| note.contains("mind the gap"))));
    finds(&mut bench, "- three");
    assert!(bench.started().is_some());
    finds(&mut bench, "- four");
    bench.give(Input::Answer(" Approve ".into()));
    claims(&mut bench);
    assert_eq!(bench.ended(), Some(VerdictKind::Done), "a person let it pass");
    let mut alone = Bench::new(reviewed_plan());
    finds(&mut alone, "- one");
    finds(&mut alone, "- two");
    assert_eq!(alone.ended(), Some(VerdictKind::Blocked));
}

#[test]
fn a_reviewer_without_a_clear_answer_approves_nothing() {
    let mut bench = Bench::new(reviewed_plan());
    claims(&mut bench);
    for _ in 0..2 {
        says(&mut bench, Err(NoOpinion("no result".into())));
        assert!(is_asked(&bench), "it is asked again");
    }
    says(&mut bench, Err(NoOpinion("no result".into())));
    assert_eq!(bench.ended(), Some(VerdictKind::Blocked));
}

#[test]
fn a_limit_ends_a_review() {
    let mut plan = reviewed_plan();
    plan.limits.run.time_ms = Some(120_000);
    let mut bench = Bench::new(plan);
    claims(&mut bench);
    bench.wake();
    assert_eq!(bench.ended(), Some(VerdictKind::Limit));
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Cut);
}
