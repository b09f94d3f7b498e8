//! The loop, decision by decision, with a clock of the test's own.

use super::*;
use crate::SessionMode;
use crate::{
    AgentEnd, AgentOutput, Allowance, Changes, FileChange, IterationFailure, IterationOutcome, Memory, OnFailure, Plan,
    Receipt, RunLimits, RunStarted, SCHEMA,
};
use serde_json::json;

const PROMISE: &str = "<promise>COMPLETE</promise>";

#[path = "decide_claim_tests.rs"]
mod claim;
#[path = "decide_fallback_tests.rs"]
mod fallback;
#[path = "decide_limits_tests.rs"]
mod limits;
#[path = "decide_outage_tests.rs"]
mod outage;
#[path = "decide_review_tests.rs"]
mod review;

struct Bench {
    state: LoopState,
    now: u64,
    events: Vec<EventKind>,
    last: Vec<Effect>,
    tree: u64,
}

impl Bench {
    fn new(plan: Plan) -> Self {
        let mut state = LoopState::new(plan, Memory::default(), Spent::default(), Some(0), 1_000);
        let started = RunStarted {
            schema: SCHEMA,
            run: "r".into(),
            folder: "/f".into(),
            title: "t".into(),
            backend: "b".into(),
            model: "m".into(),
            limits: RunLimits::default(),
            checks: Vec::new(),
            head: None,
            resumed: None,
            sandbox: None,
            unconfined: None,
            flags: serde_json::Map::new(),
        };
        state.remember(&EventKind::RunStarted(Box::new(started)).at(1_000));
        let mut bench = Self { state, now: 1_000, events: Vec::new(), last: Vec::new(), tree: 0 };
        bench.give(Input::Start);
        bench
    }

    fn give(&mut self, input: Input) -> &[Effect] {
        self.last = decide(&mut self.state, input, self.now);
        for effect in self.last.clone() {
            match effect {
                Effect::Emit(event) => self.events.push(event),
                Effect::StartAgent(start) => self.state.remember(&start.event(9).at(self.now)),
                _ => {}
            }
        }
        &self.last
    }

    /// An agent that worked for a minute and said this. Each changes something.
    fn said(&mut self, words: &str) -> &[Effect] {
        self.tree += 1;
        let report = report(words, self.tree);
        self.now += 60_000;
        self.give(Input::AgentEnded(Box::new(report)))
    }

    fn started(&self) -> Option<IterationStart> {
        self.last.iter().find_map(|effect| match effect {
            Effect::StartAgent(start) => Some((**start).clone()),
            _ => None,
        })
    }

    fn ended(&self) -> Option<VerdictKind> {
        self.last.iter().find_map(|effect| match effect {
            Effect::End(verdict) => Some(*verdict),
            _ => None,
        })
    }

    fn receipts(&self) -> Vec<Receipt> {
        let receipts = self.events.iter().filter_map(|event| match event {
            EventKind::IterationEnded { receipt, .. } => Some((**receipt).clone()),
            _ => None,
        });
        receipts.collect()
    }

    fn wake(&mut self) -> &[Effect] {
        let wake = self.last.iter().find_map(|effect| match effect {
            Effect::Wake(at) => Some(*at),
            _ => None,
        });
        self.now = wake.expect("a time to wake at");
        self.give(Input::Tick)
    }
}

fn report(words: &str, tree: u64) -> IterationReport {
    let mut output = AgentOutput::default();
    output.answer = Some(AgentResult { text: words.into(), ..AgentResult::default() });
    output.cost_usd = 0.5;
    output.tokens = Tokens { input: 90, output: 10, ..Tokens::default() };
    output.session = Some("s1".into());
    let files = vec![FileChange { path: "a".into(), added: 1, removed: 0 }];
    IterationReport {
        end: AgentEnd::Exited(0),
        output,
        changed: Changes { known: true, files, ..Changes::default() },
        tree: Some(tree),
        open_work: Vec::new(),
        stderr_tail: String::new(),
        duration_ms: 60_000,
        limit_until: None,
    }
}

fn check(passed: bool, output: &str) -> CheckFinished {
    let exit_code = i32::from(!passed);
    CheckFinished { iteration: 1, command: "make".into(), passed, exit_code, output: output.into(), duration_ms: 1 }
}

fn at_most(iterations: u32) -> Plan {
    Plan { limits: RunLimits { iterations, ..RunLimits::default() }, ..Plan::default() }
}

#[test]
fn adversary_41_a_promise_on_the_last_iteration_is_success() {
    let mut bench = Bench::new(at_most(2));
    bench.said("one step");
    assert_eq!(bench.started().map(|start| start.iteration), Some(2));
    bench.said(PROMISE);
    assert_eq!(bench.ended(), Some(VerdictKind::Done));
}

#[test]
fn without_a_promise_the_iterations_run_out() {
    let mut bench = Bench::new(at_most(3));
    for _ in 0..3 {
        assert_eq!(bench.ended(), None);
        bench.said("a step");
    }
    assert_eq!(bench.ended(), Some(VerdictKind::Limit));
    assert_eq!(bench.give(Input::Tick), [], "nothing happens after the end");
}

#[test]
fn adversary_43_without_a_limit_of_iterations_the_others_hold() {
    let run = |allowance| RunLimits { iterations: 0, run: allowance, ..RunLimits::default() };
    for (limits, most) in [
        (run(Allowance { time_ms: Some(600_000), ..Allowance::default() }), 10),
        (run(Allowance { usd: Some(2.0), ..Allowance::default() }), 4),
        (run(Allowance { tokens: Some(1_000), ..Allowance::default() }), 10),
        (RunLimits { day: Allowance { usd: Some(3.0), ..Allowance::default() }, ..RunLimits::default() }, 6),
    ] {
        let mut bench = Bench::new(Plan { limits, summarise_every: 0, ..Plan::default() });
        let mut count = 0;
        while bench.ended().is_none() && count < 100 {
            bench.said(&format!("step {count}"));
            count += 1;
        }
        assert_eq!((bench.ended(), count), (Some(VerdictKind::Limit), most), "{limits:?}");
    }
    let mut idle = Bench::new(at_most(0));
    let mut count = 0;
    while idle.ended().is_none() && count < 100 {
        idle.now += 1;
        let same = report("still nothing", 0);
        idle.give(Input::AgentEnded(Box::new(same)));
        count += 1;
    }
    assert_eq!(idle.ended(), Some(VerdictKind::Stuck));
    assert!(idle.events.iter().any(|event| matches!(event, EventKind::StrategyChanged { .. })), "strategy first");
}

#[test]
fn a_running_agent_is_stopped_at_a_limit_once() {
    let limits = RunLimits { run: Allowance { tokens: Some(50), ..Allowance::default() }, ..RunLimits::default() };
    let mut bench = Bench::new(Plan { limits, ..Plan::default() });
    let some = Tokens { input: 49, ..Tokens::default() };
    assert_eq!(bench.give(Input::Spending { tokens: some, usd: 0.0 }), []);
    let more = Tokens { input: 50, ..Tokens::default() };
    assert_eq!(bench.give(Input::Spending { tokens: more, usd: 0.0 }), [Effect::StopAgent]);
    assert_eq!(bench.give(Input::Spending { tokens: more, usd: 0.0 }), []);
    bench.give(Input::AgentEnded(Box::new(IterationReport { end: AgentEnd::Stopped, ..report("cut", 1) })));
    assert_eq!((bench.ended(), &bench.receipts()[0].outcome), (Some(VerdictKind::Limit), &IterationOutcome::Cut));
}

#[test]
fn an_iterations_own_time_ends_only_the_iteration() {
    let iteration = Allowance { time_ms: Some(5_000), ..Allowance::default() };
    let mut bench = Bench::new(Plan { limits: RunLimits { iteration, ..RunLimits::default() }, ..Plan::default() });
    assert_eq!(bench.wake(), [Effect::StopAgent]);
    bench.give(Input::AgentEnded(Box::new(IterationReport { end: AgentEnd::Stopped, ..report("cut", 1) })));
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Failed { failure: IterationFailure::Overrun });
    bench.wake();
    assert_eq!(bench.started().map(|start| start.iteration), Some(2));
}

#[test]
fn done_means_checked() {
    let mut bench = Bench::new(Plan { has_checks: true, ..Plan::default() });
    assert_eq!(bench.said(PROMISE), [Effect::RunChecks { iteration: 1 }]);
    bench.give(Input::ChecksEnded(vec![check(true, ""), check(false, "2 tests failed")]));
    let start = bench.started().expect("it goes on");
    assert!(start.notes.iter().any(|note| note.contains("2 tests failed")), "{:?}", start.notes);
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::NotDone);
    bench.said(PROMISE);
    bench.give(Input::ChecksEnded(vec![check(true, "")]));
    assert_eq!(bench.ended(), Some(VerdictKind::Done));
    let mut empty = Bench::new(Plan { has_checks: true, ..Plan::default() });
    empty.said(PROMISE);
    empty.give(Input::ChecksEnded(Vec::new()));
    assert_eq!(empty.ended(), None, "no check is not a passed check");
}

#[test]
fn adversary_49_a_missing_structure_is_corrected_three_times() {
    let mut bench = Bench::new(Plan { structured: true, ..Plan::default() });
    for odd in [None, Some(json!({"summary": null})), Some(json!({"summary": 5}))] {
        let answer = AgentResult { structured: odd, ..AgentResult::default() };
        assert!(matches!(bench.give(Input::TurnEnded(answer)), [Effect::Say(_)]));
    }
    assert_eq!(bench.give(Input::TurnEnded(AgentResult::default())), [Effect::CloseInput]);
    bench.said("no structure");
    assert_eq!(bench.receipts()[0].outcome, IterationOutcome::Failed { failure: IterationFailure::Unstructured });
}

#[test]
fn adversary_49_only_done_is_done() {
    for (summary, ends) in
        [("DONE", true), (" DONE\n", true), ("done.", false), ("NOT DONE", false), ("DONE!", false), ("", false)]
    {
        let mut bench = Bench::new(Plan { structured: true, ..Plan::default() });
        let mut report = report("{}", 1);
        report.output.answer =
            Some(AgentResult { structured: Some(json!({"summary": summary})), ..AgentResult::default() });
        bench.give(Input::AgentEnded(Box::new(report)));
        assert_eq!(bench.ended() == Some(VerdictKind::Done), ends, "{summary:?}");
    }
    let mut bench = Bench::new(Plan { structured: true, ..Plan::default() });
    let mut long = report("{}", 1);
    let megabyte = "x".repeat(1 << 20);
    long.output.answer = Some(AgentResult { structured: Some(json!({"summary": megabyte})), ..AgentResult::default() });
    bench.give(Input::AgentEnded(Box::new(long)));
    assert!(bench.started().is_some_and(|start| start.progress[0].text.len() < 3_000));
}

#[test]
fn adversary_45_each_way_to_fail_is_told_apart() {
    let plan = Plan::default();
    let silent = |end| IterationReport { end, output: AgentOutput::default(), ..report("", 1) };
    let errored = |status, text: &str| {
        let mut report = report("", 1);
        report.output.answer =
            Some(AgentResult { is_error: true, status, text: text.into(), ..AgentResult::default() });
        report
    };
    for (report, expected) in [
        (silent(AgentEnd::Exited(0)), Some(IterationFailure::NoResult)),
        (silent(AgentEnd::Exited(3)), Some(IterationFailure::ExitCode)),
        (silent(AgentEnd::Signalled(9)), Some(IterationFailure::Signal)),
        (silent(AgentEnd::Silent(1_000)), Some(IterationFailure::Silence)),
        (silent(AgentEnd::Flooded), Some(IterationFailure::Flood)),
        (silent(AgentEnd::NotStarted("no such file".into())), Some(IterationFailure::Start)),
        (IterationReport { end: AgentEnd::Exited(2), ..report("fine", 1) }, Some(IterationFailure::ExitCode)),
        (errored(None, "it broke"), Some(IterationFailure::ErrorResult)),
        (errored(Some(401), "no"), Some(IterationFailure::Credentials)),
        (errored(None, "Invalid API key · Please run /login"), Some(IterationFailure::Credentials)),
        (IterationReport { end: AgentEnd::Lingered, ..report("fine", 1) }, None),
        (report("fine", 1), None),
    ] {
        assert_eq!(report.failure(&plan), expected, "{:?}", report.end);
    }
}

#[test]
fn failures_go_on_with_growing_pauses_and_then_end() {
    let mut bench = Bench::new(Plan::default());
    let dead =
        || Box::new(IterationReport { end: AgentEnd::Signalled(9), output: AgentOutput::default(), ..report("", 0) });
    let mut pauses = Vec::new();
    for _ in 0..2 {
        bench.give(Input::AgentEnded(dead()));
        let before = bench.now;
        bench.wake();
        pauses.push(bench.now - before);
        assert!(bench.started().is_some_and(|start| start.notes.iter().any(|note| note.contains("signal 9"))));
    }
    bench.give(Input::AgentEnded(dead()));
    assert_eq!((pauses, bench.ended()), (vec![2_000, 4_000], Some(VerdictKind::Failed)));
    let mut strict = Bench::new(Plan { on_failure: OnFailure::Stop, ..Plan::default() });
    strict.give(Input::AgentEnded(dead()));
    assert_eq!(strict.ended(), Some(VerdictKind::Failed));
}

fn limited(until: Option<u64>) -> Box<IterationReport> {
    let mut report = report("", 0);
    report.output.answer = Some(AgentResult {
        is_error: true,
        text: "You've hit your limit · resets 5pm".into(),
        ..AgentResult::default()
    });
    report.output.limit = Some(crate::LimitHit { reset: None, words: "hit your limit".into() });
    report.limit_until = until;
    Box::new(report)
}

#[test]
fn adversary_46_a_usage_limit_waits_and_does_not_count() {
    let mut bench = Bench::new(at_most(1));
    bench.give(Input::AgentEnded(limited(Some(500_000))));
    assert!(bench.last.contains(&Effect::Wake(501_000)), "{:?}", bench.last);
    bench.now = 400_000;
    assert_eq!(bench.give(Input::Tick), [Effect::Wake(501_000)]);
    bench.wake();
    let start = bench.started().expect("the same iteration");
    assert_eq!((start.iteration, start.attempt), (1, 2));
    bench.said(PROMISE);
    assert_eq!((bench.ended(), bench.state.memory().iterations), (Some(VerdictKind::Done), 1));
    let costs: f64 = bench.receipts().iter().map(|receipt| receipt.cost_usd).sum();
    assert!((bench.state.memory().spent.usd - costs).abs() < 1e-9, "what a limited agent cost counts");
}

#[test]
fn a_wait_ends_by_a_person_and_never_outlasts_the_run() {
    let mut bench = Bench::new(Plan::default());
    bench.give(Input::AgentEnded(limited(None)));
    bench.give(Input::Stop);
    assert_eq!(bench.ended(), Some(VerdictKind::Interrupted));
    let run = Allowance { time_ms: Some(60_000), ..Allowance::default() };
    let mut short = Bench::new(Plan { limits: RunLimits { run, ..RunLimits::default() }, ..Plan::default() });
    short.give(Input::AgentEnded(limited(Some(10_000_000))));
    assert_eq!(short.ended(), Some(VerdictKind::Limit));
}

#[test]
fn adversary_47_once_finishes_the_iteration_twice_stops_it() {
    let mut bench = Bench::new(Plan::default());
    assert_eq!(bench.give(Input::Stop), []);
    bench.said("a step");
    assert_eq!(bench.ended(), Some(VerdictKind::Interrupted));
    let mut done = Bench::new(Plan::default());
    done.give(Input::Stop);
    done.said(PROMISE);
    assert_eq!(done.ended(), Some(VerdictKind::Done), "finishing may mean being done");
    for (input, verdict) in [(Input::Stop, VerdictKind::Interrupted), (Input::Terminate, VerdictKind::Terminated)] {
        let mut bench = Bench::new(Plan::default());
        bench.give(Input::Stop);
        assert_eq!(bench.give(input), [Effect::StopAgent]);
        bench.give(Input::AgentEnded(Box::new(IterationReport { end: AgentEnd::Stopped, ..report("x", 1) })));
        assert_eq!((bench.ended(), bench.state.memory().iterations), (Some(verdict), 0));
    }
}

#[test]
fn a_question_blocks_or_waits_for_whoever_is_there() {
    let words = "I need help.\n<blocked>Which port?</blocked>";
    let mut bench = Bench::new(Plan::default());
    bench.said(words);
    assert_eq!(bench.ended(), Some(VerdictKind::Blocked));
    let mut attended = Bench::new(Plan { attended: true, ..Plan::default() });
    attended.said(words);
    assert_eq!((attended.ended(), attended.started()), (None, None));
    attended.give(Input::Answer("8080".into()));
    let start = attended.started().expect("it goes on");
    assert!(start.notes.iter().any(|note| note.contains("Which port?") && note.contains("8080")));
    attended.said("thanks");
    assert_eq!(attended.started().map(|start| start.notes), Some(Vec::new()), "notes are given once");
}

#[test]
fn pause_holds_after_the_iteration_and_steering_reaches_the_agent() {
    let mut bench = Bench::new(Plan::default());
    bench.give(Input::Pause);
    let said = bench.give(Input::Steer("use tabs".into())).to_vec();
    assert!(said.contains(&Effect::Say("use tabs".into())));
    bench.said("a step");
    assert_eq!((bench.started(), bench.ended()), (None, None));
    bench.give(Input::Resume);
    assert_eq!(bench.started().map(|start| start.iteration), Some(2));
}

#[test]
fn every_tenth_iteration_is_summarised_and_paid_for() {
    let mut bench = Bench::new(at_most(0));
    for step in 0..10 {
        bench.said(&format!("step {step}"));
    }
    let Some(Effect::Summarise { through: 10, entries, .. }) = bench.last.last().cloned() else {
        panic!("{:?}", bench.last)
    };
    assert_eq!(entries.len(), 10);
    let usd = bench.state.memory().spent.usd;
    bench.give(Input::Summarised { through: 10, summary: Some("all".into()), usd: 0.25, tokens: Tokens::default() });
    let start = bench.started().expect("it goes on");
    assert_eq!((start.summary.as_deref(), start.progress.len()), (Some("all"), 0));
    assert!((bench.state.memory().spent.usd - usd - 0.25).abs() < 1e-9);
}

#[test]
fn continue_mode_goes_on_in_the_session() {
    let mut bench = Bench::new(Plan { session: SessionMode::Continue, ..Plan::default() });
    bench.said("a step");
    assert_eq!(bench.started().and_then(|start| start.session).as_deref(), Some("s1"));
}

#[test]
fn a_recording_folds_to_what_the_run_knew() {
    let mut bench = Bench::new(at_most(0));
    bench.give(Input::Steer("hello".into()));
    bench.said("one");
    bench.give(Input::AgentEnded(limited(Some(500_000))));
    let live = bench.state.memory().clone();
    assert_eq!((live.iterations, live.progress.len(), live.session.as_deref()), (1, 1, Some("s1")));
    assert!((live.spent.usd - 1.0).abs() < 1e-9);
}

#[test]
fn a_promise_that_was_only_mentioned_gets_a_hint() {
    let mut bench = Bench::new(Plan::default());
    bench.said(&format!("I will say {PROMISE}"));
    assert!(bench.started().is_some_and(|start| start.notes[0].contains("very last line")));
}
