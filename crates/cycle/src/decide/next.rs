//! Between two iterations: wait, end, pause, summarise, or start the next.

use super::effect::{Effect, emit, wake_at_the_end};
use super::ending::{end, wait_until};
use crate::state::{LoopState, Phase, Working};
use crate::{EventKind, IterationStart, SessionMode, Spent, VerdictKind};

/// Before the next iteration; at once where there is nothing to wait for, or no iteration follows.
pub(super) fn wait(state: &mut LoopState, ms: u64, reason: &str, effects: &mut Vec<Effect>) {
    if ms == 0 || state.stopping || state.is_used_up() {
        return next(state, effects);
    }
    wait_until(state, state.now.saturating_add(ms), reason, effects);
}

/// Between two iterations: end, pause, summarise, or start the next.
pub(super) fn next(state: &mut LoopState, effects: &mut Vec<Effect>) {
    if state.stopping {
        return end(state, VerdictKind::Interrupted, "stopped after this iteration, as asked", effects);
    }
    let iterations = state.plan.limits.iterations;
    if iterations > 0 && state.memory.iterations >= iterations {
        let used = if iterations == 1 { "1 iteration is".to_owned() } else { format!("{iterations} iterations are") };
        let reason = format!("limit of the run: {used} used");
        return end(state, VerdictKind::Limit, &reason, effects);
    }
    if let Some(reason) = state.limit_reached() {
        return end(state, VerdictKind::Limit, &reason, effects);
    }
    if state.pausing {
        state.phase = Phase::Paused;
        return emit(state, EventKind::Paused, effects);
    }
    let unsummarised = state.memory.iterations.saturating_sub(state.memory.summary_tried);
    let every = state.plan.summarise_every;
    if every > 0 && unsummarised >= every && !state.memory.progress.is_empty() {
        state.phase = Phase::Summarising(Spent::default());
        let entries = state.memory.progress.iter().cloned().collect();
        let earlier = state.memory.summary.clone();
        effects.push(Effect::Summarise { through: state.memory.iterations, earlier, entries });
        return wake_at_the_end(state, effects);
    }
    start(state, effects);
}

fn start(state: &mut LoopState, effects: &mut Vec<Effect>) {
    let iteration = state.iteration();
    let struggling = state.strategy.is_some();
    let other = state.plan.other_model.clone().filter(|_| struggling);
    let own = other.unwrap_or_else(|| state.plan.model.clone());
    let way = take_way(state, &own, effects);
    let model = way.checked_sub(1).and_then(|at| state.plan.fallback.get(at)).map_or(own, |way| way.model.clone());
    let session = match state.plan.session {
        SessionMode::Clean => None,
        SessionMode::Continue => state.memory.session.clone(),
    };
    let allowance = state.allowance();
    let begin = IterationStart {
        iteration,
        attempt: state.attempt,
        model,
        way,
        session,
        strategy: state.strategy.clone(),
        notes: state.memory.notes.clone(),
        work: state.memory.work.clone(),
        summary: state.memory.summary.clone(),
        progress: state.memory.progress.iter().cloned().collect(),
        allowance,
    };
    state.corrections = 0;
    state.phase = Phase::Working(Working { since: state.now, ..Working::default() });
    effects.push(Effect::StartAgent(Box::new(begin)));
    if let Some(time) = allowance.time_ms {
        effects.push(Effect::Wake(state.now.saturating_add(time)));
    }
}

/// The way that the next iteration takes. A change is told.
fn take_way(state: &mut LoopState, own: &str, effects: &mut Vec<Effect>) -> usize {
    // Where all are limited the wait is over early, at a person's wish: the way in use is tried.
    let way = state.ways.first_free(state.now).unwrap_or(state.ways.current);
    if way != state.ways.current {
        state.ways.current = way;
        let text = match way.checked_sub(1).and_then(|at| state.plan.fallback.get(at)) {
            Some(other) => format!("going on with {} while the limit lasts", other.name),
            None => format!("the limit is over; going back to {own}"),
        };
        emit(state, EventKind::Warning { iteration: Some(state.iteration()), text }, effects);
    }
    way
}
