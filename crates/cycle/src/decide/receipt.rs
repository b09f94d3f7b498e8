//! The receipt of an iteration, and what follows when it does not end the run.

use super::effect::{Effect, emit, wake_at_the_end};
use super::ending::{end, end_with};
use super::next::wait;
use crate::state::{LoopState, Phase};
use crate::stuck::{IterationSigns, StuckLevel};
use crate::text::bounded;
use crate::{EventKind, IterationOutcome, IterationReport, Question, Receipt, RefusedClaim, VerdictKind};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const SUMMARY_MAX: usize = 4_000;

const RETHINK: &str = "The last iterations changed nothing that lasts. Do not repeat what was tried. Look at the \
    problem afresh: read the failing output again, question the assumption behind the last attempts, and take a \
    different and smaller step. If only a person can help, say so with <blocked>your question</blocked>.";

const UNMEASURED: &str = "the agent reports no usage, so a limit in USD or tokens cannot hold. Limit iterations (--max) or \
    time (--duration) instead";

/// Why a claim to be done does not end the run.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// A fingerprint of the checks that failed.
    pub failed_check: Option<u64>,
    pub evidence: Vec<String>,
    pub refused: Option<RefusedClaim>,
}

/// No end yet: is there progress, and what comes next?
pub(super) fn go_on(
    state: &mut LoopState,
    report: &IterationReport,
    blocking: Option<String>,
    verdicts: Verdicts,
    effects: &mut Vec<Effect>,
) {
    let Verdicts { failed_check, evidence, refused } = verdicts;
    let sign = IterationSigns { tree: report.tree, words: exact(&report.summary()), failed_check };
    let standing = if state.plan.watch_for_stuck { state.stuck.observe(sign) } else { StuckLevel::Progress };
    let outcome = match (failed_check.is_some() || refused.is_some(), standing) {
        (true, _) => IterationOutcome::NotDone,
        (false, StuckLevel::Progress) => IterationOutcome::Progress,
        (false, _) => IterationOutcome::NoProgress,
    };
    let iteration = state.iteration();
    finish(state, report, outcome, blocking, evidence, refused, effects);
    if !report.measures(&state.plan.limits) {
        return end(state, VerdictKind::Limit, UNMEASURED, effects);
    }
    match standing {
        StuckLevel::Progress => state.strategy = None,
        StuckLevel::NoProgress => {}
        StuckLevel::ChangeStrategy => change_strategy(state, iteration, effects),
        StuckLevel::Stop => {
            let reason = "nothing changes any more, and a change of strategy did not help";
            return end(state, VerdictKind::Stuck, reason, effects);
        }
    }
    wait(state, state.plan.cooldown_ms, "a pause between iterations", effects);
}

fn change_strategy(state: &mut LoopState, iteration: u32, effects: &mut Vec<Effect>) {
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

pub(super) fn block_on(state: &mut LoopState, report: &IterationReport, question: Question, effects: &mut Vec<Effect>) {
    emit(state, EventKind::Question(question.clone()), effects);
    finish(state, report, IterationOutcome::Blocked, Some(question.text.clone()), Vec::new(), None, effects);
    if state.plan.attended && !state.stopping {
        state.phase = Phase::Asking;
        return wake_at_the_end(state, effects);
    }
    end_with(state, VerdictKind::Blocked, "the agent needs an answer", Some(question), effects);
}

/// Writes the receipt.
pub(super) fn finish(
    state: &mut LoopState,
    report: &IterationReport,
    outcome: IterationOutcome,
    blocking: Option<String>,
    mut evidence: Vec<String>,
    refused: Option<RefusedClaim>,
    effects: &mut Vec<Effect>,
) {
    let iteration = state.iteration();
    evidence.extend(report.changed.commits.iter().map(|commit| format!("commit {commit}")));
    if report.output.is_estimate() {
        evidence.push("the agent did not say what it cost; the cost is an estimate".into());
    } else if report.output.cost_doubtful && report.output.answer.is_some() {
        evidence.push("the agent did not say what it cost; the cost is a lower bound".into());
    }
    let deferred = matches!(outcome, IterationOutcome::Deferred);
    let receipt = Receipt {
        outcome,
        summary: if deferred { String::new() } else { bounded(&report.summary(), SUMMARY_MAX) },
        changed: report.changed.clone(),
        blocking,
        refused,
        evidence,
        cost_usd: report.output.cost_usd,
        tokens: report.output.tokens,
        duration_ms: report.duration_ms,
        tool_calls: report.output.tool_calls,
        session: report.output.session.clone(),
    };
    let summary = receipt.summary.clone();
    emit(state, EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }, effects);
    if state.plan.commit && !deferred {
        effects.push(Effect::Commit { iteration, summary });
    }
}
