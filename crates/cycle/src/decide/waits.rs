//! An iteration that could not be: a usage limit, or an API that is down. The same iteration starts again later.

use super::effect::Effect;
use super::ending::{end, wait_until};
use super::next::next;
use super::receipt::finish;
use crate::amounts::clock;
use crate::outage::wait_ms;
use crate::state::{LoopState, OutageSoFar};
use crate::{IterationOutcome, IterationReport, LimitHit, Outage, VerdictKind};

/// Waits for a limit that names no end: a minute, then twice as long each time, at most this.
const BLIND_WAIT_MS: u64 = 60_000;
const BLIND_WAIT_MAX_MS: u64 = 60 * 60 * 1000;
/// Waits in a row for one iteration: blind ones last about three days.
const WAITS_MAX: u32 = 75;
/// A reset a moment ago, or clocks that differ a little, must not make us knock without pause.
const RESET_MARGIN_MS: u64 = 1_000;
/// An endpoint that never answered in this run is more likely a wrong address than an outage.
const NEVER_REACHED_MS: u64 = 10 * 60 * 1000;

/// A usage limit: its end is often known.
pub(super) fn for_limit(state: &mut LoopState, report: &IterationReport, limit: &LimitHit, effects: &mut Vec<Effect>) {
    state.outage = None;
    state.answered = true;
    if put_off(state, report, &limit.words, effects) {
        return;
    }
    state.waits += 1;
    if state.waits > WAITS_MAX {
        let reason = format!("still limited after {WAITS_MAX} waits: {}", limit.words);
        return end(state, VerdictKind::Failed, &reason, effects);
    }
    let doubled = BLIND_WAIT_MS.saturating_mul(1 << (state.waits - 1).min(16)).min(BLIND_WAIT_MAX_MS);
    let known = report.limit_until.map(|until| until.max(state.now).saturating_add(RESET_MARGIN_MS));
    let until = known.unwrap_or_else(|| state.now.saturating_add(capped(state, doubled)));
    state.ways.limit_current(until);
    if state.ways.instead_of_waiting(state.now, until, state.plan.fallback_after_ms).is_some() {
        return next(state, effects);
    }
    // Where all ways are limited, the first that is free again ends the wait. A short limit is waited for as it is.
    let all_limited = state.ways.first_free(state.now).is_none();
    let until = if all_limited { until.min(state.ways.next_free()) } else { until };
    wait_within_the_run(state, until, &limit.words, effects);
}

/// An outage: nobody knows its end, so the loop tries again and again.
pub(super) fn for_outage(state: &mut LoopState, report: &IterationReport, outage: &Outage, effects: &mut Vec<Effect>) {
    state.answered |= outage.answered;
    let words = format!("the API is unavailable: {}", outage.words);
    if put_off(state, report, &words, effects) {
        return;
    }
    let before = state.outage.unwrap_or(OutageSoFar { since: state.now, tries: 0 });
    let so_far = OutageSoFar { tries: before.tries.saturating_add(1), ..before };
    state.outage = Some(so_far);
    let reached = state.answered || state.memory.reached;
    let most = if reached { state.plan.max_outage_ms } else { state.plan.max_outage_ms.min(NEVER_REACHED_MS) };
    let lasted = state.now.saturating_sub(so_far.since);
    if lasted >= most {
        return end(state, VerdictKind::Failed, &given_up(reached, lasted, outage), effects);
    }
    // The last try is when the time is used up.
    let wait = capped(state, wait_ms(so_far.tries)).min(most - lasted);
    wait_within_the_run(state, state.now.saturating_add(wait), &words, effects);
}

fn given_up(reached: bool, lasted: u64, outage: &Outage) -> String {
    let time = clock(lasted);
    if reached {
        return format!("the API was unavailable for {time} (--max-outage); the last error: {}", outage.words);
    }
    format!(
        "the API was never reached in {time}: {}. Check the network and ANTHROPIC_BASE_URL with 'ralph doctor'",
        outage.words
    )
}

fn capped(state: &LoopState, ms: u64) -> u64 {
    state.plan.wait_max_ms.map_or(ms, |most| ms.min(most))
}

/// Writes the receipt of an iteration that does not count. Whether the run is over or stopping, so that nothing
/// is waited for.
fn put_off(state: &mut LoopState, report: &IterationReport, words: &str, effects: &mut Vec<Effect>) -> bool {
    finish(state, report, IterationOutcome::Deferred, Some(words.to_owned()), Vec::new(), None, effects);
    state.attempt += 1;
    if state.stopping {
        next(state, effects);
    }
    state.stopping
}

fn wait_within_the_run(state: &mut LoopState, until: u64, words: &str, effects: &mut Vec<Effect>) {
    let ends = state.plan.limits.run.time_ms.map(|limit| {
        let left = limit.saturating_sub(state.memory.time_at(state.now));
        state.now.saturating_add(left)
    });
    if ends.is_some_and(|ends| until >= ends) {
        let reason = format!("limit of the run: its time ends before the wait does ({words})");
        return end(state, VerdictKind::Limit, &reason, effects);
    }
    wait_until(state, until, words, effects);
}
