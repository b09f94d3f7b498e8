//! An iteration is over: what was it, and what follows?

use super::ending::{end, end_with, wait};
use super::{Effect, claim, emit, is_formless, next, review, waits, wake_at_the_end};
use crate::receipt::PASSED;
use crate::state::{Cut, Phase, State, Working};
use crate::stuck::{Sign, Standing};
use crate::text::{bounded, ending, fingerprint};
use crate::{
    CheckFinished, Claim, EventKind, Failure, OnFailure, Outcome, Question, Receipt, RefusedClaim, Report, VerdictKind,
    questions,
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const FAILURE_PAUSE_MAX_MS: u64 = 5 * 60 * 1000;
/// Of a failed check, in the next prompt.
const CHECK_OUTPUT_MAX: usize = 4_000;
const SUMMARY_MAX: usize = 4_000;

const RETHINK: &str = "The last iterations changed nothing that lasts. Do not repeat what was tried. Look at the \
    problem afresh: read the failing output again, question the assumption behind the last attempts, and take a \
    different and smaller step. If only a person can help, say so with <blocked>your question</blocked>.";

pub(super) fn ended(state: &mut State, report: Report, effects: &mut Vec<Effect>) {
    let Phase::Working(working) = std::mem::replace(&mut state.phase, Phase::New) else { return };
    match working.cut {
        Some(Cut::Person(verdict)) => {
            finish(state, &report, Outcome::Interrupted, None, Vec::new(), None, effects);
            return end(state, verdict, "stopped during an iteration, as asked", effects);
        }
        Some(Cut::Run(reason)) => {
            finish(state, &report, Outcome::Cut, Some(reason.clone()), Vec::new(), None, effects);
            return end(state, VerdictKind::Limit, &reason, effects);
        }
        Some(Cut::Iteration(reason)) => return failed(state, &report, Failure::Overrun, Some(reason), effects),
        None => {}
    }
    match report.failure(&state.plan) {
        Some(failure) => {
            let limit = report.limit().filter(|_| may_pass(failure));
            let outage = report.outage().filter(|_| may_pass(failure));
            match (limit, outage) {
                (Some(limit), _) => waits::for_limit(state, &report, &limit, effects),
                (None, Some(outage)) => waits::for_outage(state, &report, &outage, effects),
                (None, None) => failed(state, &report, failure, None, effects),
            }
        }
        None => worked(state, report, effects),
    }
}

/// Where the agent had given a good result before we were killed, only our own part is missing and the
/// iteration is not done again. Otherwise it counts for what it cost, and starts anew.
pub(super) fn recovered(state: &mut State, report: Report, effects: &mut Vec<Effect>) {
    if report.heard.answer.as_ref().is_some_and(|answer| !answer.is_error && !is_formless(state, answer)) {
        state.phase = Phase::Working(Working { since: state.now, ..Working::default() });
        return ended(state, report, effects);
    }
    let why = "ralph itself was stopped during this iteration".to_owned();
    finish(state, &report, Outcome::Interrupted, Some(why), Vec::new(), None, effects);
    next(state, effects);
}

/// Whether waiting can repair it: a limit or an outage of the API may be the reason.
fn may_pass(failure: Failure) -> bool {
    use Failure::{ErrorResult, ExitCode, NoResult, Signal, Silence};
    matches!(failure, ErrorResult | NoResult | ExitCode | Signal | Silence)
}

fn failed(state: &mut State, report: &Report, failure: Failure, why: Option<String>, effects: &mut Vec<Effect>) {
    let blocking = why.unwrap_or_else(|| report.blocking(failure));
    finish(state, report, Outcome::Failed { failure }, Some(blocking.clone()), Vec::new(), None, effects);
    state.attempt = 1;
    state.outage = None;
    // An agent that was cut while it got somewhere is not a broken one.
    state.failures = if failure == Failure::Overrun && report.changed.any() { 0 } else { state.failures + 1 };
    let hopeless = matches!(failure, Failure::Start | Failure::Credentials);
    if hopeless || state.plan.on_failure == OnFailure::Stop {
        return end(state, VerdictKind::Failed, &blocking, effects);
    }
    if state.failures >= state.plan.failures_max.max(1) {
        let reason = match state.failures {
            1 => blocking,
            failures => format!("{failures} iterations failed in a row; the last: {blocking}"),
        };
        return end(state, VerdictKind::Failed, &reason, effects);
    }
    let pause = state.plan.failure_pause_ms.saturating_mul(1 << state.failures.saturating_sub(1).min(16));
    wait(state, pause.min(FAILURE_PAUSE_MAX_MS), "a pause after a failed iteration", effects);
}

fn worked(state: &mut State, report: Report, effects: &mut Vec<Effect>) {
    state.failures = 0;
    state.waits = 0;
    state.outage = None;
    state.attempt = 1;
    let iteration = state.iteration();
    if let Some(question) = asked(iteration, &report) {
        return block_on(state, &report, question, effects);
    }
    match report.claim(&state.plan) {
        Claim::Made if state.plan.has_checks => {
            state.phase = Phase::Checking(Box::new(report));
            effects.push(Effect::RunChecks { iteration });
            wake_at_the_end(state, effects);
        }
        Claim::Made => claim::made(state, &report, effects),
        Claim::Mentioned => {
            let hint = format!(
                "Your last message had {:?} in it, but not as a promise. It counts only as the very last line, on its \
                 own and not quoted, once everything is done.",
                state.plan.promise
            );
            go_on(state, &report, Some(hint), Verdicts::default(), effects);
        }
        Claim::None => go_on(state, &report, None, Verdicts::default(), effects),
    }
}

/// A question that nobody answered, unless the agent went on to finish.
fn asked(iteration: u32, report: &Report) -> Option<Question> {
    report.heard.question.clone().or_else(|| questions::in_words(iteration, report.heard.final_words()))
}

pub(super) fn block_on(state: &mut State, report: &Report, question: Question, effects: &mut Vec<Effect>) {
    emit(state, EventKind::Question(question.clone()), effects);
    finish(state, report, Outcome::Blocked, Some(question.text.clone()), Vec::new(), None, effects);
    if state.plan.attended && !state.stopping {
        state.phase = Phase::Asking;
        return wake_at_the_end(state, effects);
    }
    end_with(state, VerdictKind::Blocked, "the agent needs an answer", Some(question), effects);
}

/// A limit of the run or the day is reached while no agent works.
pub(super) fn out_of_time(state: &mut State, reason: &str, effects: &mut Vec<Effect>) {
    match std::mem::replace(&mut state.phase, Phase::New) {
        Phase::Checking(report) => {
            finish(state, &report, Outcome::Cut, Some(reason.to_owned()), Vec::new(), None, effects);
            end(state, VerdictKind::Limit, reason, effects);
        }
        Phase::Reviewing(reviewing) => {
            finish(state, &reviewing.report, Outcome::Cut, Some(reason.to_owned()), reviewing.evidence, None, effects);
            end(state, VerdictKind::Limit, reason, effects);
        }
        // What is missing is the answer, not the time.
        Phase::Asking => {
            let question = state.memory.question.clone();
            let reason = format!("the agent needs an answer, and none came in time ({reason})");
            end_with(state, VerdictKind::Blocked, &reason, question, effects);
        }
        _ => end(state, VerdictKind::Limit, reason, effects),
    }
}

pub(super) fn checked(state: &mut State, checks: &[CheckFinished], effects: &mut Vec<Effect>) {
    let Phase::Checking(report) = std::mem::replace(&mut state.phase, Phase::New) else { return };
    let evidence: Vec<String> = checks
        .iter()
        .map(|check| format!("{} {}", if check.passed { PASSED } else { "failed:" }, check.command))
        .collect();
    let broken: Vec<&CheckFinished> = checks.iter().filter(|check| !check.passed).collect();
    // Empty is never "all passed".
    if broken.is_empty() && !checks.is_empty() {
        let reason = format!("the agent says so, and {} of {} checks agree", checks.len(), checks.len());
        return review::settle(state, *report, evidence, reason, effects);
    }
    let words: Vec<String> = broken
        .iter()
        .map(|check| {
            let output = ending(check.output.trim(), CHECK_OUTPUT_MAX);
            format!("`{}` failed with exit code {}:\n{output}", check.command, check.exit_code)
        })
        .collect();
    let failure = fingerprint(&words.join("\n"));
    let blocking = format!("You said that all is done, but a check disagrees. {}", words.join("\n"));
    let verdicts = Verdicts { failed_check: Some(failure), evidence, refused: None };
    go_on(state, &report, Some(blocking), verdicts, effects);
}

/// Why a claim to be done does not end the run.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// A fingerprint of the checks that failed.
    pub failed_check: Option<u64>,
    pub evidence: Vec<String>,
    pub refused: Option<RefusedClaim>,
}

const UNMEASURED: &str = "the agent reports no usage, so a limit in USD or tokens cannot hold. Limit iterations (--max) or \
    time (--duration) instead";

/// No end yet: is there progress, and what comes next?
pub(super) fn go_on(
    state: &mut State,
    report: &Report,
    blocking: Option<String>,
    verdicts: Verdicts,
    effects: &mut Vec<Effect>,
) {
    let Verdicts { failed_check, evidence, refused } = verdicts;
    let sign = Sign { tree: report.tree, words: exact(&report.summary()), failed_check };
    let standing = if state.plan.watch_for_stuck { state.stuck.observe(sign) } else { Standing::Progress };
    let outcome = match (failed_check.is_some() || refused.is_some(), standing) {
        (true, _) => Outcome::NotDone,
        (false, Standing::Progress) => Outcome::Progress,
        (false, _) => Outcome::NoProgress,
    };
    let iteration = state.iteration();
    finish(state, report, outcome, blocking, evidence, refused, effects);
    if !report.measures(&state.plan.limits) {
        return end(state, VerdictKind::Limit, UNMEASURED, effects);
    }
    match standing {
        Standing::Progress => state.strategy = None,
        Standing::NoProgress => {}
        Standing::ChangeStrategy => change_strategy(state, iteration, effects),
        Standing::Stop => {
            let reason = "nothing changes any more, and a change of strategy did not help";
            return end(state, VerdictKind::Stuck, reason, effects);
        }
    }
    wait(state, state.plan.cooldown_ms, "a pause between iterations", effects);
}

fn change_strategy(state: &mut State, iteration: u32, effects: &mut Vec<Effect>) {
    state.strategy = Some(RETHINK.to_owned());
    let strategy = match &state.plan.other_model {
        Some(model) => format!("another prompt section, and {model} instead of {}", state.plan.model),
        None => "another prompt section".to_owned(),
    };
    let reason = "the last iterations changed nothing that lasts".to_owned();
    emit(state, EventKind::StrategyChanged { iteration, strategy, reason }, effects);
}

/// Words that are the same to the letter; numbers may be all that tells two steps apart.
fn exact(words: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.trim().hash(&mut hasher);
    hasher.finish()
}

/// Writes the receipt.
pub(super) fn finish(
    state: &mut State,
    report: &Report,
    outcome: Outcome,
    blocking: Option<String>,
    mut evidence: Vec<String>,
    refused: Option<RefusedClaim>,
    effects: &mut Vec<Effect>,
) {
    let iteration = state.iteration();
    evidence.extend(report.changed.commits.iter().map(|commit| format!("commit {commit}")));
    if report.heard.is_estimate() {
        evidence.push("the agent did not say what it cost; the cost is an estimate".into());
    } else if report.heard.cost_doubtful && report.heard.answer.is_some() {
        evidence.push("the agent did not say what it cost; the cost is a lower bound".into());
    }
    let deferred = matches!(outcome, Outcome::Deferred);
    let receipt = Receipt {
        outcome,
        summary: if deferred { String::new() } else { bounded(&report.summary(), SUMMARY_MAX) },
        changed: report.changed.clone(),
        blocking,
        refused,
        evidence,
        cost_usd: report.heard.cost_usd,
        tokens: report.heard.tokens,
        duration_ms: report.duration_ms,
        tool_calls: report.heard.tool_calls,
        session: report.heard.session.clone(),
    };
    let summary = receipt.summary.clone();
    emit(state, EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }, effects);
    if state.plan.commit && !deferred {
        effects.push(Effect::Commit { iteration, summary });
    }
}
