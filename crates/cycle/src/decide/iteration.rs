//! The end of an iteration: its outcome and the next step.

use super::effect::{Effect, wake_at_the_end};
use super::ending::{end, end_with};
use super::next::{next, wait};
use super::receipt::{Verdicts, block_on, finish, go_on};
use super::{claim, review, waits};
use crate::judge::summary_of;
use crate::receipt::PASSED;
use crate::state::{Cut, LoopState, Phase, Working};
use crate::text::{ending, fingerprint};
use crate::{
    AgentResult, CheckFinished, Claim, IterationFailure, IterationOutcome, IterationReport, OnFailure, Question,
    VerdictKind, questions,
};

const FAILURE_PAUSE_MAX_MS: u64 = 5 * 60 * 1000;
/// Of a failed check, in the next prompt.
const CHECK_OUTPUT_MAX: usize = 4_000;

pub(super) fn on_agent_ended(state: &mut LoopState, report: IterationReport, effects: &mut Vec<Effect>) {
    let Phase::Working(working) = std::mem::replace(&mut state.phase, Phase::New) else { return };
    match working.cut {
        Some(Cut::Person(verdict)) => {
            finish(state, &report, IterationOutcome::Interrupted, None, Vec::new(), None, effects);
            return end(state, verdict, "stopped during an iteration, as asked", effects);
        }
        Some(Cut::Run(reason)) => {
            finish(state, &report, IterationOutcome::Cut, Some(reason.clone()), Vec::new(), None, effects);
            return end(state, VerdictKind::Limit, &reason, effects);
        }
        Some(Cut::Iteration(reason)) => {
            return failed(state, &report, IterationFailure::Overrun, Some(reason), effects);
        }
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
pub(super) fn recovered(state: &mut LoopState, report: IterationReport, effects: &mut Vec<Effect>) {
    if report.output.answer.as_ref().is_some_and(|answer| !answer.is_error && !is_formless(state, answer)) {
        state.phase = Phase::Working(Working { since: state.now, ..Working::default() });
        return on_agent_ended(state, report, effects);
    }
    let why = "ralph itself was stopped during this iteration".to_owned();
    finish(state, &report, IterationOutcome::Interrupted, Some(why), Vec::new(), None, effects);
    next(state, effects);
}

/// Whether waiting can repair it: a limit or an outage of the API may be the reason.
fn may_pass(failure: IterationFailure) -> bool {
    use IterationFailure::{ErrorResult, ExitCode, NoResult, Signal, Silence};
    matches!(failure, ErrorResult | NoResult | ExitCode | Signal | Silence)
}

fn failed(
    state: &mut LoopState,
    report: &IterationReport,
    failure: IterationFailure,
    why: Option<String>,
    effects: &mut Vec<Effect>,
) {
    let blocking = why.unwrap_or_else(|| report.blocking(failure));
    finish(state, report, IterationOutcome::Failed { failure }, Some(blocking.clone()), Vec::new(), None, effects);
    state.attempt = 1;
    state.outage = None;
    // An agent that was cut while it got somewhere is not a broken one.
    state.failures = if failure == IterationFailure::Overrun && report.changed.any() { 0 } else { state.failures + 1 };
    let hopeless = matches!(failure, IterationFailure::Start | IterationFailure::Credentials);
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

fn worked(state: &mut LoopState, report: IterationReport, effects: &mut Vec<Effect>) {
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
        Claim::Made => claim::on_claim(state, &report, effects),
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
fn asked(iteration: u32, report: &IterationReport) -> Option<Question> {
    report.output.question.clone().or_else(|| questions::in_words(iteration, report.output.final_text()))
}

/// A limit of the run or the day is reached while no agent works.
pub(super) fn out_of_time(state: &mut LoopState, reason: &str, effects: &mut Vec<Effect>) {
    match std::mem::replace(&mut state.phase, Phase::New) {
        Phase::Checking(report) => {
            finish(state, &report, IterationOutcome::Cut, Some(reason.to_owned()), Vec::new(), None, effects);
            end(state, VerdictKind::Limit, reason, effects);
        }
        Phase::Reviewing(reviewing) => {
            finish(
                state,
                &reviewing.report,
                IterationOutcome::Cut,
                Some(reason.to_owned()),
                reviewing.evidence,
                None,
                effects,
            );
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

pub(super) fn checked(state: &mut LoopState, checks: &[CheckFinished], effects: &mut Vec<Effect>) {
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

/// The answer is not in the form that was asked for.
pub(super) fn is_formless(state: &LoopState, answer: &AgentResult) -> bool {
    state.plan.structured && !answer.is_error && summary_of(answer.structured.as_ref()).is_none()
}
