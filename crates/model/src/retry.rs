//! The decision to retry a request, and the wait before it. Pure: clock, random numbers and sleep belong to the caller.
//!
//! Retried is what may pass by itself: overload, rate limits, server errors, broken connections. Never
//! what will fail the same way again: a bad request, a refused credential, an untrusted certificate.

use crate::{Backoff, Failure, FailureKind};
use jiff::Timestamp;
use std::time::Duration;

/// Silence costs minutes each time, so it is tried again less often than an error that comes at once.
const SILENCES_MAX: u32 = 2;
/// Waits are shortened by up to this share so that many agents do not come back at the same moment.
const JITTER: f64 = 0.25;
/// A credential that could not be had is looked for this often again, as the reference does.
const CREDENTIAL_RETRIES: u32 = 2;
/// With the watchdog, failures other than limits and overloads are still not tried for ever.
pub const WATCHDOG_RETRIES: u32 = 300;
/// The longest single wait with the watchdog: a limit may be lifted before the time that the server named.
const WATCHDOG_WAIT: Duration = Duration::from_mins(30);

/// What went wrong so far in one asking, the failure at hand included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailureCounts {
    pub failures: u32,
    pub silences: u32,
    /// In a row.
    pub overloads: u32,
}

impl FailureCounts {
    pub fn count(&mut self, failure: &Failure) {
        self.failures += 1;
        self.silences += u32::from(silent(failure));
        self.overloads = if failure.overloaded { self.overloads + 1 } else { 0 };
    }
}

#[derive(Debug, Clone, Copy)]
pub struct RetryLimits {
    pub max_retries: u32,
    pub overload_retries: Option<u32>,
    pub backoff: Backoff,
    /// Rate limits and overloads are waited out, however long they last.
    pub watchdog: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Wait this long, then ask again.
    Retry(Duration),
    /// Asking again would not help, or was tried often enough.
    GiveUp,
    /// It would help, but not before the server's limit resets.
    ResetsLater(Duration),
}

/// `jitter` is a number from 0 to 1, drawn anew for each call.
pub fn decide_retry(tally: FailureCounts, limits: &RetryLimits, failure: &Failure, jitter: f64) -> RetryDecision {
    let overloaded_enough = limits.overload_retries.is_some_and(|most| failure.overloaded && tally.overloads > most);
    let silent_enough = silent(failure) && tally.silences > SILENCES_MAX;
    let unfound_enough = failure.kind == FailureKind::NoCredential && tally.failures > CREDENTIAL_RETRIES;
    if !may_pass(failure) || overloaded_enough || silent_enough || unfound_enough {
        return RetryDecision::GiveUp;
    }
    let wait = backoff(tally.failures, &limits.backoff).mul_f64(1.0 - JITTER * jitter.clamp(0.0, 1.0));
    // A server that says "0" while it is overloaded would be hammered: our own wait is the least.
    let wait = failure.retry_after.map_or(wait, |asked| asked.max(wait));
    if limits.watchdog && is_limit(failure) {
        return RetryDecision::Retry(wait.min(WATCHDOG_WAIT));
    }
    if let Some(asked) = failure.retry_after.filter(|asked| *asked > limits.backoff.longest_asked) {
        return RetryDecision::ResetsLater(asked);
    }
    if tally.failures > limits.max_retries {
        return RetryDecision::GiveUp;
    }
    RetryDecision::Retry(wait)
}

/// What ends by itself without anything being wrong with the request.
fn is_limit(failure: &Failure) -> bool {
    failure.overloaded || matches!(failure.status, Some(429 | 529))
}

fn backoff(failures: u32, backoff: &Backoff) -> Duration {
    let doublings = failures.saturating_sub(1).min(31);
    backoff.first.saturating_mul(1 << doublings).min(backoff.longest)
}

fn silent(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::NoAnswer | FailureKind::Stalled)
}

fn may_pass(failure: &Failure) -> bool {
    match failure.kind {
        FailureKind::Connect
        | FailureKind::NoCredential
        | FailureKind::NoAnswer
        | FailureKind::Stalled
        | FailureKind::Cut
        | FailureKind::Garbled => true,
        // A quota that is used up is a limit by its status only.
        FailureKind::Http | FailureKind::Stream if failure.category == "billing_error" => false,
        FailureKind::Http | FailureKind::Stream => matches!(failure.status, Some(408 | 409 | 429 | 500..=599)),
        FailureKind::Setup | FailureKind::TlsVerify | FailureKind::NotAStream | FailureKind::Over => false,
    }
}

/// The value of a `retry-after` header: seconds or a date.
pub fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    // A date in the past means now.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

/// The value of a rate limit's reset header: RFC 3339, or seconds since 1970.
pub fn parse_reset(value: &str) -> Option<Timestamp> {
    let value = value.trim();
    value.parse().ok().or_else(|| Timestamp::from_second(value.parse().ok()?).ok())
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
