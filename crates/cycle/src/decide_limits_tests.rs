//! Limits hold whatever the loop is doing, and over the days.

use super::*;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn run_time(ms: u64) -> Plan {
    let run = Allowance { time_ms: Some(ms), ..Allowance::default() };
    Plan { limits: RunLimits { run, ..RunLimits::default() }, ..Plan::default() }
}

fn day(allowance: Allowance) -> Plan {
    Plan { limits: RunLimits { day: allowance, ..RunLimits::default() }, ..Plan::default() }
}

fn verdict(bench: &Bench) -> crate::RunVerdict {
    let mut verdicts = bench.events.iter().filter_map(|event| match event {
        EventKind::Verdict(verdict) => Some(verdict.clone()),
        _ => None,
    });
    verdicts.next_back().expect("a verdict")
}

#[test]
fn a_check_does_not_outlast_the_run() {
    let mut bench = Bench::new(Plan { has_checks: true, ..run_time(100_000) });
    bench.said(PROMISE);
    assert!(bench.last.contains(&Effect::RunChecks { iteration: 1 }), "{:?}", bench.last);
    bench.now += 1_000;
    assert_eq!(bench.give(Input::Tick).len(), 1, "not yet, but it will look again");
    bench.wake();
    assert_eq!(bench.ended(), Some(VerdictKind::Limit));
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Cut);
    bench.give(Input::ChecksEnded(vec![check(true, "")]));
    assert_eq!(bench.last, [], "what comes after the end changes nothing");
}

#[test]
fn a_summary_outlasts_neither_the_time_nor_the_tokens_of_the_run() {
    let summarising = |plan: Plan| {
        let mut bench = Bench::new(Plan { summarise_every: 1, ..plan });
        bench.said("a step");
        assert!(bench.last.iter().any(|effect| matches!(effect, Effect::Summarise { .. })), "{:?}", bench.last);
        bench
    };
    let mut slow = summarising(run_time(100_000));
    slow.wake();
    assert_eq!(slow.ended(), Some(VerdictKind::Limit));
    let run = Allowance { tokens: Some(1_000), ..Allowance::default() };
    let mut talkative = summarising(Plan { limits: RunLimits { run, ..RunLimits::default() }, ..Plan::default() });
    let tokens = |input| Tokens { input, ..Tokens::default() };
    assert_eq!(talkative.give(Input::Spending { tokens: tokens(800), usd: 0.0 }), []);
    assert_eq!(talkative.give(Input::Spending { tokens: tokens(900), usd: 0.0 }), [Effect::StopAgent]);
    talkative.give(Input::Summarised { through: 1, summary: None, usd: 0.1, tokens: tokens(900) });
    assert_eq!(talkative.ended(), Some(VerdictKind::Limit));
    assert_eq!(verdict(&talkative).tokens.total(), 1_000, "the summary counts once");
}

#[test]
fn a_question_that_nobody_answers_in_time_ends_as_one() {
    let mut bench = Bench::new(Plan { attended: true, ..run_time(100_000) });
    bench.said("<blocked>Which port?</blocked>");
    assert!(bench.state.is_asking());
    bench.wake();
    assert_eq!(bench.ended(), Some(VerdictKind::Blocked));
    let verdict = verdict(&bench);
    assert_eq!(verdict.question.map(|question| question.text).as_deref(), Some("Which port?"));
    assert!(verdict.reason.contains("none came in time"), "{}", verdict.reason);
}

#[test]
fn each_limit_of_the_day_holds_by_itself() {
    for (allowance, iterations) in [
        (Allowance { usd: Some(1.0), ..Allowance::default() }, 2),
        (Allowance { tokens: Some(250), ..Allowance::default() }, 3),
        (Allowance { time_ms: Some(200_000), ..Allowance::default() }, 4),
    ] {
        let mut bench = Bench::new(day(allowance));
        while bench.ended().is_none() {
            bench.said("a step");
        }
        assert_eq!((bench.ended(), bench.receipts().len()), (Some(VerdictKind::Limit), iterations), "{allowance:?}");
        assert!(verdict(&bench).reason.starts_with("limit of the day"), "{allowance:?}");
    }
}

#[test]
fn what_other_runs_used_today_counts_and_midnight_forgives() {
    let plan = day(Allowance { usd: Some(2.0), ..Allowance::default() });
    let today = Spent { usd: 1.2, ..Spent::default() };
    let noon = DAY_MS / 2;
    let mut state = LoopState::new(plan, Memory::default(), today, Some(0), noon);
    decide(&mut state, Input::Start, noon);
    let step = |state: &mut LoopState, tree, now| {
        let effects = decide(state, Input::AgentEnded(Box::new(report("a step", tree))), now);
        effects.iter().any(|effect| matches!(effect, Effect::End(VerdictKind::Limit)))
    };
    assert!(!step(&mut state, 1, noon + 1), "1.70 of 2.00");
    assert!(!step(&mut state, 2, DAY_MS + 1), "a new day: what was used before is forgiven");
    assert!((state.day_spent().usd - 0.5).abs() < 1e-9, "{:?}", state.day_spent());
    assert!(!step(&mut state, 3, DAY_MS + 2) && !step(&mut state, 4, DAY_MS + 3));
    assert!(step(&mut state, 5, DAY_MS + 4), "2.00 of 2.00 of the new day");
}

#[test]
fn days_begin_at_local_midnight() {
    let plan = Plan { day_offset_ms: 2 * 60 * 60 * 1000, ..day(Allowance { usd: Some(0.6), ..Allowance::default() }) };
    let evening = DAY_MS - 3 * 60 * 60 * 1000;
    let mut state = LoopState::new(plan, Memory::default(), Spent::default(), Some(0), evening);
    decide(&mut state, Input::Start, evening);
    decide(&mut state, Input::AgentEnded(Box::new(report("a step", 1))), evening + 1);
    assert!((state.day_spent().usd - 0.5).abs() < 1e-9);
    // Two hours before midnight in Greenwich it is midnight here.
    decide(&mut state, Input::Tick, DAY_MS - 2 * 60 * 60 * 1000);
    assert!(state.day_spent().usd < 1e-9, "{:?}", state.day_spent());
}
