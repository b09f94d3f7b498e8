//! A claim to be done, where no check can tell; limits that nobody can measure; summaries that fail; the last pause.

use super::*;
use crate::RefusedClaim;

fn claims(bench: &mut Bench, open: &[&str], changes: bool) {
    let mut report = report(PROMISE, if changes { 7 } else { 0 });
    report.open_work = open.iter().map(|&item| item.to_owned()).collect();
    if !changes {
        report.changed = Changes { known: true, ..Changes::default() };
    }
    bench.now += 60_000;
    bench.give(Input::AgentEnded(Box::new(report)));
}

fn verdict(bench: &Bench) -> Option<crate::RunVerdict> {
    bench.events.iter().rev().find_map(|event| match event {
        EventKind::Verdict(verdict) => Some(verdict.clone()),
        _ => None,
    })
}

#[test]
fn issue_10_1_2_a_claim_with_open_items_is_refused_and_then_a_question() {
    let mut bench = Bench::new(Plan::default());
    claims(&mut bench, &["one", "two"], true);
    let start = bench.started().expect("it goes on");
    assert!(start.notes[0].contains("- one\n- two"), "{:?}", start.notes);
    let receipt = &bench.receipts()[0];
    assert_eq!(receipt.outcome, IterationOutcome::NotDone);
    assert_eq!(receipt.refused, Some(RefusedClaim::OpenItems { items: vec!["one".into(), "two".into()] }));
    // Progress in between: it is told again what is open, and not given up.
    claims(&mut bench, &["two"], true);
    assert!(bench.started().is_some_and(|start| start.notes[0].contains("- two")));
    claims(&mut bench, &["two"], true);
    assert_eq!(bench.ended(), Some(VerdictKind::Blocked));
    let question = verdict(&bench).and_then(|verdict| verdict.question).expect("a question");
    assert!(question.text.contains("- two"), "{}", question.text);
    let mut attended = Bench::new(Plan { attended: true, ..Plan::default() });
    claims(&mut attended, &["one"], true);
    claims(&mut attended, &["one"], true);
    assert!(attended.ended().is_none() && attended.state.is_asking());
}

#[test]
fn a_claim_with_checks_is_decided_by_them() {
    let mut bench = Bench::new(Plan { has_checks: true, ..Plan::default() });
    claims(&mut bench, &["one"], false);
    assert!(bench.last.contains(&Effect::RunChecks { iteration: 1 }));
    bench.give(Input::ChecksEnded(vec![check(true, "")]));
    let verdict = verdict(&bench).unwrap();
    assert_eq!((verdict.verdict, verdict.unchecked), (VerdictKind::Done, false));
}

#[test]
fn issue_10_1_2_a_claim_with_nothing_changed_is_asked_for_once_more() {
    let mut bench = Bench::new(Plan::default());
    claims(&mut bench, &[], false);
    assert!(bench.started().is_some_and(|start| start.notes[0].contains("nothing has changed in this run")));
    claims(&mut bench, &[], false);
    let last = verdict(&bench).unwrap();
    assert_eq!((last.verdict, last.unchecked, last.iterations), (VerdictKind::Done, true, 2));
    let mut one = Bench::new(at_most(1));
    claims(&mut one, &[], false);
    assert_eq!(one.ended(), Some(VerdictKind::Done), "no iteration is left to ask in");
    let mut earlier = Bench::new(Plan::default());
    earlier.said("a step");
    claims(&mut earlier, &[], false);
    assert_eq!(earlier.ended(), Some(VerdictKind::Done), "something changed before");
    let mut elsewhere = Bench::new(Plan::default());
    let mut report = report(PROMISE, 0);
    (report.changed, report.output.tool_calls) = (Changes::default(), 3);
    elsewhere.give(Input::AgentEnded(Box::new(report)));
    assert_eq!(elsewhere.ended(), Some(VerdictKind::Done), "without git, a tool call may have changed something");
}

#[test]
fn a_resumed_run_remembers_what_was_refused() {
    let mut bench = Bench::new(Plan::default());
    claims(&mut bench, &["one"], true);
    let mut memory = Memory::default();
    for event in bench.events.clone() {
        memory.fold(&event.at(1));
    }
    assert_eq!(memory.refused, bench.state.memory().refused);
    assert!(memory.refused.is_some() && memory.changed);
}

#[test]
fn issue_10_1_6_a_limit_that_cannot_be_measured_ends_the_run() {
    let usd = RunLimits { run: Allowance { usd: Some(5.0), ..Allowance::default() }, ..RunLimits::default() };
    let tokens = RunLimits { day: Allowance { tokens: Some(5), ..Allowance::default() }, ..RunLimits::default() };
    let silent = |words: &str| {
        let mut report = report(words, 1);
        (report.output.tokens, report.output.cost_usd) = (Tokens::default(), 0.0);
        report
    };
    let free = |words: &str| {
        let mut report = silent(words);
        report.output.cost_reported = true;
        report
    };
    for (limits, report, ends) in [
        (usd, silent("a step"), true),
        (tokens, silent("a step"), true),
        (usd, report("a step", 1), false),
        (usd, free("a step"), false),
        (RunLimits::default(), silent("a step"), false),
    ] {
        let mut bench = Bench::new(Plan { limits: RunLimits { iterations: 0, ..limits }, ..Plan::default() });
        bench.give(Input::AgentEnded(Box::new(report.clone())));
        assert_eq!(bench.ended() == Some(VerdictKind::Limit), ends, "{limits:?} {:?}", report.output.tokens);
        assert!(!ends || verdict(&bench).unwrap().reason.contains("--duration"));
    }
    let mut done = Bench::new(Plan { limits: usd, ..Plan::default() });
    done.give(Input::AgentEnded(Box::new(silent(PROMISE))));
    assert_eq!(done.ended(), Some(VerdictKind::Done), "there is nothing left to limit");
}

#[test]
fn issue_10_1_8_a_failed_summary_keeps_the_last_one_and_all_entries() {
    let mut bench = Bench::new(Plan { summarise_every: 2, ..at_most(0) });
    let two = |bench: &mut Bench, from: u32| {
        bench.said(&format!("step {from}"));
        bench.said(&format!("step {}", from + 1));
        assert!(matches!(bench.last.last(), Some(Effect::Summarise { .. })), "{:?}", bench.last);
    };
    let summary = |text: Option<&str>, through| Input::Summarised {
        through,
        summary: text.map(str::to_owned),
        usd: 0.1,
        tokens: Tokens::default(),
    };
    two(&mut bench, 1);
    bench.give(summary(Some("the beginning"), 2));
    two(&mut bench, 3);
    let spent = bench.state.memory().spent.usd;
    bench.give(summary(None, 4));
    let start = bench.started().expect("it goes on");
    assert_eq!(start.summary.as_deref(), Some("the beginning"));
    assert_eq!(start.progress.iter().map(|entry| entry.iteration).collect::<Vec<_>>(), [3, 4]);
    assert!((bench.state.memory().spent.usd - spent - 0.1).abs() < 1e-9, "a failed one is paid for, too");
    let said = bench.events.iter().filter(|event| matches!(event, EventKind::Summarised { .. })).count();
    assert_eq!(said, 1, "it does not say that it has summarised");
    two(&mut bench, 5);
    let Some(Effect::Summarise { entries, .. }) = bench.last.last() else { panic!() };
    assert_eq!(entries.len(), 4, "the next try covers all of them");
}

#[test]
fn entries_are_cut_by_size() {
    let mut bench = Bench::new(Plan { summarise_every: 0, ..at_most(0) });
    for step in 0..200 {
        bench.said(&format!("{step} {}", "x".repeat(1_900)));
    }
    let progress = bench.started().expect("it goes on").progress;
    let size: usize = progress.iter().map(|entry| entry.text.len()).sum();
    assert!(size <= 64 * 1024 && size > 60_000, "{size}");
    assert_eq!(progress.last().map(|entry| entry.iteration), Some(200));
}

#[test]
fn issue_10_1_10_there_is_no_pause_after_the_last_iteration() {
    let mut bench = Bench::new(Plan { cooldown_ms: 60_000, ..at_most(2) });
    bench.said("one");
    assert_eq!(bench.ended(), None);
    bench.wake();
    bench.said("two");
    assert_eq!(bench.ended(), Some(VerdictKind::Limit));
    let mut failing = Bench::new(at_most(1));
    let dead = IterationReport { end: AgentEnd::Signalled(9), output: AgentOutput::default(), ..report("", 0) };
    failing.give(Input::AgentEnded(Box::new(dead)));
    assert_eq!(failing.ended(), Some(VerdictKind::Limit));
}
