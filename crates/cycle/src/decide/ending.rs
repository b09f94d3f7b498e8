//! The end of a run, and a wait before its next iteration.

use super::effect::{Effect, emit};
use crate::state::{LoopState, Phase};
use crate::{EventKind, Question, RunVerdict, VerdictKind};

pub(super) fn end(state: &mut LoopState, verdict: VerdictKind, reason: &str, effects: &mut Vec<Effect>) {
    end_with(state, verdict, reason, None, effects);
}

pub(super) fn end_with(
    state: &mut LoopState,
    verdict: VerdictKind,
    reason: &str,
    question: Option<Question>,
    effects: &mut Vec<Effect>,
) {
    state.phase = Phase::Over;
    let spent = state.memory.spent;
    let unchecked = verdict == VerdictKind::Done && !state.plan.has_checks;
    let verdict = RunVerdict {
        verdict,
        reason: reason.to_owned(),
        exit_code: verdict.exit().code(),
        unchecked,
        question,
        iterations: state.memory.iterations,
        cost_usd: spent.usd,
        tokens: spent.tokens,
        elapsed_ms: state.memory.time_at(state.now),
    };
    let kind = verdict.verdict;
    emit(state, EventKind::Verdict(verdict), effects);
    effects.push(Effect::End(kind));
}

pub(super) fn wait_until(state: &mut LoopState, until: u64, reason: &str, effects: &mut Vec<Effect>) {
    let iteration = state.iteration();
    emit(state, EventKind::Waiting { iteration, until, reason: reason.to_owned() }, effects);
    state.phase = Phase::Waiting(until);
    effects.push(Effect::Wake(until));
}
