//! The plan of a run: fixed before it starts, the same to its end.

use crate::RunLimits;

/// How long an outage is waited out where neither `--max-outage` nor `--duration` says otherwise.
pub const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub limits: RunLimits,
    /// The words that claim completion.
    pub promise: String,
    /// A result `{"summary": …}` is required, and the summary `DONE` claims completion too.
    pub structured: bool,
    pub has_checks: bool,
    pub session: SessionMode,
    pub model: String,
    /// Tried when the loop gets nowhere.
    pub other_model: Option<String>,
    /// Models that are used while the run's own is at its limit, in their order.
    pub fallback: Vec<crate::FallbackModel>,
    /// A longer wait than this is skipped where another model is free.
    pub fallback_after_ms: u64,
    /// Between iterations.
    pub cooldown_ms: u64,
    /// Before an iteration after a failed one; doubles with each.
    pub failure_pause_ms: u64,
    pub on_failure: OnFailure,
    /// Failed iterations in a row that end the run.
    pub failures_max: u32,
    /// How long an API that was reached before may be unreachable.
    pub max_outage_ms: u64,
    /// The longest wait for a limit or an outage, where this is only a rehearsal.
    pub wait_max_ms: Option<u64>,
    /// Iterations that a summary covers at a time; zero is never.
    pub summarise_every: u32,
    /// Whether getting nowhere changes the strategy and then ends the run.
    pub watch_for_stuck: bool,
    /// Somebody is there to answer: a question waits instead of ending the run.
    pub attended: bool,
    pub commit: bool,
    /// How often a reviewer may send work back before a person is asked; zero is no review.
    pub review_rounds: u32,
    /// What days are counted by: local midnight, as milliseconds east of UTC.
    pub day_offset_ms: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionMode {
    /// Each iteration starts with nothing but its prompt.
    #[default]
    Clean,
    /// Each iteration goes on in the conversation of the last.
    Continue,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    #[default]
    GoOn,
    Stop,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            limits: RunLimits { iterations: 30, ..RunLimits::default() },
            promise: "<promise>COMPLETE</promise>".into(),
            structured: false,
            has_checks: false,
            session: SessionMode::Clean,
            model: "sonnet".into(),
            other_model: None,
            fallback: Vec::new(),
            fallback_after_ms: 15 * 60 * 1000,
            cooldown_ms: 0,
            failure_pause_ms: 2_000,
            on_failure: OnFailure::GoOn,
            failures_max: 3,
            max_outage_ms: DAY_MS,
            wait_max_ms: None,
            summarise_every: 10,
            watch_for_stuck: true,
            attended: false,
            commit: false,
            review_rounds: 0,
            day_offset_ms: 0,
        }
    }
}
