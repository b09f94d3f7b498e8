//! An API that is down is waited for; nothing else is mistaken for it.

use super::*;
use crate::Outage;

fn down(answered: bool) -> Box<IterationReport> {
    let mut report = report("", 0);
    report.output.answer = Some(AgentResult { is_error: true, text: "API Error".into(), ..AgentResult::default() });
    report.output.outage = Some(Outage { words: "cannot reach api.test".into(), answered });
    report.output.tokens = Tokens::default();
    report.changed = Changes::default();
    Box::new(report)
}

/// Gives the same failure until the run ends. The waits, in seconds, and the verdict.
fn waits(bench: &mut Bench, report: &dyn Fn() -> Box<IterationReport>) -> (Vec<u64>, Option<VerdictKind>) {
    let mut waits = Vec::new();
    for _ in 0..2_000 {
        bench.now += 1_000;
        bench.give(Input::AgentEnded(report()));
        if bench.ended().is_some() {
            break;
        }
        let before = bench.now;
        bench.wake();
        waits.push((bench.now - before) / 1000);
    }
    (waits, bench.ended())
}

fn reason(bench: &Bench) -> String {
    let last = bench.events.iter().rev().find_map(|event| match event {
        EventKind::Verdict(verdict) => Some(verdict.reason.clone()),
        _ => None,
    });
    last.unwrap_or_default()
}

#[test]
fn issue_10_1_1_an_outage_is_waited_out_and_uses_up_no_iteration() {
    let mut bench = Bench::new(at_most(2));
    bench.said("one step");
    for _ in 0..12 {
        bench.give(Input::AgentEnded(down(false)));
        assert_eq!(bench.ended(), None);
        bench.wake();
    }
    let start = bench.started().expect("the same iteration");
    assert_eq!((start.iteration, start.attempt), (2, 13));
    bench.said(PROMISE);
    assert_eq!(bench.ended(), Some(VerdictKind::Done));
    let waiting = bench.events.iter().any(
        |event| matches!(event, EventKind::Waiting { reason, .. } if reason == "the API is unavailable: cannot reach api.test"),
    );
    assert!(waiting, "{:?}", bench.events);
}

#[test]
fn waits_grow_to_five_minutes_and_end_with_max_outage() {
    let plan = |max_outage_ms| Plan { max_outage_ms, ..Plan::default() };
    let mut bench = Bench::new(plan(3_600_000));
    bench.said("one step");
    let (seconds, ended) = waits(&mut bench, &|| down(false));
    assert_eq!(seconds[..6], [10, 20, 40, 80, 160, 300]);
    assert!(seconds.iter().all(|wait| *wait <= 300), "{seconds:?}");
    assert_eq!(ended, Some(VerdictKind::Failed));
    assert!(reason(&bench).contains("1h 00m (--max-outage)"), "{}", reason(&bench));
    let mut none = Bench::new(plan(0));
    none.said("one step");
    assert_eq!(waits(&mut none, &|| down(true)), (vec![], Some(VerdictKind::Failed)), "zero is not at all");
}

#[test]
fn an_endpoint_that_never_answered_fails_after_ten_minutes_and_one_that_did_does_not() {
    let mut never = Bench::new(Plan::default());
    let before = never.now;
    let (_, ended) = waits(&mut never, &|| down(false));
    assert_eq!(ended, Some(VerdictKind::Failed));
    let lasted = (never.now - before) / 1000;
    assert!((600..630).contains(&lasted), "{lasted} s");
    assert!(
        reason(&never).contains("never reached") && reason(&never).contains("'ralph doctor'"),
        "{}",
        reason(&never)
    );
    let mut answers = Bench::new(Plan::default());
    let before = answers.now;
    let (_, ended) = waits(&mut answers, &|| down(true));
    assert_eq!(ended, Some(VerdictKind::Failed));
    assert!((answers.now - before) / 1000 >= 24 * 3600, "an overloaded service is waited for");
}

#[test]
fn a_refused_key_ends_at_once_and_other_failures_still_count() {
    let errored = |status, text: &str| {
        let mut report = down(false);
        report.output.outage = None;
        report.output.answer =
            Some(AgentResult { is_error: true, status, text: text.into(), ..AgentResult::default() });
        report
    };
    let mut refused = Bench::new(Plan::default());
    refused.give(Input::AgentEnded(errored(Some(401), "API Error: 401")));
    assert_eq!(refused.ended(), Some(VerdictKind::Failed));
    let mut broken = Bench::new(Plan::default());
    assert_eq!(waits(&mut broken, &|| errored(None, "it broke")), (vec![2, 4], Some(VerdictKind::Failed)));
}

#[test]
fn an_agent_that_is_stopped_or_dies_while_the_api_is_away_is_put_off() {
    for end in [AgentEnd::Silent(1_000), AgentEnd::Signalled(9), AgentEnd::Exited(1), AgentEnd::Exited(0)] {
        let mut bench = Bench::new(Plan::default());
        let mut report = down(false);
        report.end = end.clone();
        report.output.answer = None;
        bench.give(Input::AgentEnded(report));
        assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Deferred, "{end:?}");
    }
    let mut bench = Bench::new(Plan::default());
    let mut said = IterationReport { end: AgentEnd::Exited(1), output: AgentOutput::default(), ..report("", 0) };
    said.stderr_tail = "API Error: Connection error.".into();
    bench.give(Input::AgentEnded(Box::new(said)));
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Deferred, "said on standard error");
}

#[test]
fn an_outage_ends_with_the_time_of_the_run_and_with_a_person() {
    let run = Allowance { time_ms: Some(60_000), ..Allowance::default() };
    let mut short = Bench::new(Plan { limits: RunLimits { run, ..RunLimits::default() }, ..Plan::default() });
    let (_, ended) = waits(&mut short, &|| down(true));
    assert_eq!(ended, Some(VerdictKind::Limit));
    let mut stopped = Bench::new(Plan::default());
    stopped.give(Input::AgentEnded(down(true)));
    stopped.give(Input::Stop);
    assert_eq!(stopped.ended(), Some(VerdictKind::Interrupted));
}

#[test]
fn a_second_outage_starts_its_time_anew() {
    let mut bench = Bench::new(Plan { max_outage_ms: 15_000, ..at_most(0) });
    for _ in 0..5 {
        bench.said("a step");
        bench.give(Input::AgentEnded(down(true)));
        assert_eq!(bench.ended(), None);
        bench.wake();
    }
}
