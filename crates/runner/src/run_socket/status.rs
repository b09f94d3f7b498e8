//! The status of a run: a fold over its events, for clients that do not want all of them.

use cycle::{EventKind, LoopEvent, Question, RunVerdict, Tokens};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    #[default]
    Working,
    Paused,
    Asking,
    Waiting,
    /// For new work (`--watch`).
    Watching,
    Ended,
    /// A state that is newer than this client.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub run: String,
    pub pid: u32,
    pub folder: String,
    pub title: String,
    pub backend: String,
    pub model: String,
    pub state: RunState,
    /// The one at work, or the last one.
    pub iteration: u32,
    pub iterations_done: u32,
    /// Zero is no limit.
    pub max_iterations: u32,
    /// With what the iteration at work has cost so far.
    pub cost_usd: f64,
    pub tokens: Tokens,
    /// Milliseconds since 1970: when this process began with the run.
    pub started: u64,
    pub last_event_at: u64,
    /// The last line of the recording.
    pub seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_until: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// Whether the recording can be written.
    pub recorded: bool,
}

/// The fold, with what it has to know beside the status.
#[derive(Debug, Default)]
pub(super) struct StatusFold {
    status: Status,
    /// Without the iteration at work.
    spent: (f64, Tokens),
    is_paused: bool,
    is_between: bool,
    is_watching: bool,
}

impl StatusFold {
    pub(super) fn new(run: &str) -> Self {
        let status = Status { run: run.to_owned(), pid: std::process::id(), recorded: true, ..Status::default() };
        Self { status, ..Self::default() }
    }

    pub(super) fn status(&self) -> &Status {
        &self.status
    }

    pub(super) fn recorded(&mut self, seq: u64, recorded: bool) {
        self.status.seq = seq;
        self.status.recorded = recorded;
    }

    pub(super) fn watch(&mut self) {
        self.is_watching = true;
        self.status.state = self.state();
    }

    pub(super) fn fold(&mut self, event: &LoopEvent) {
        let status = &mut self.status;
        status.last_event_at = event.at;
        match &event.kind {
            EventKind::RunStarted(start) => {
                status.folder.clone_from(&start.folder);
                status.title.clone_from(&start.title);
                status.backend.clone_from(&start.backend);
                status.model.clone_from(&start.model);
                status.max_iterations = start.limits.iterations;
                status.started = event.at;
                status.verdict = None;
                if let Some(before) = &start.resumed {
                    status.iterations_done = before.iterations;
                    self.spent = (before.cost_usd, before.tokens);
                    (status.cost_usd, status.tokens) = self.spent;
                }
            }
            EventKind::IterationStarted(start) => {
                status.iteration = start.iteration;
                status.model.clone_from(&start.model);
                status.waiting_until = None;
                self.is_between = false;
            }
            EventKind::Usage(usage) => {
                status.cost_usd = self.spent.0 + usage.cost_usd.filter(|usd| usd.is_finite()).unwrap_or(0.0);
                status.tokens = self.spent.1.plus(usage.tokens);
            }
            EventKind::IterationEnded { iteration, receipt } => {
                self.spend(receipt.cost_usd, receipt.tokens);
                let status = &mut self.status;
                let counts = !matches!(
                    receipt.outcome,
                    cycle::IterationOutcome::Deferred | cycle::IterationOutcome::Interrupted
                );
                if counts {
                    status.iterations_done = status.iterations_done.max(*iteration);
                }
                if counts && !matches!(receipt.outcome, cycle::IterationOutcome::Blocked) {
                    status.question = None;
                }
                self.is_between = true;
            }
            EventKind::Summarised { cost_usd, tokens, .. } | EventKind::SummaryFailed { cost_usd, tokens, .. } => {
                self.spend(*cost_usd, *tokens);
            }
            EventKind::Waiting { until, .. } => status.waiting_until = Some(*until),
            EventKind::Question(question) => status.question = Some(question.clone()),
            EventKind::Answered { .. } => status.question = None,
            EventKind::Paused => self.is_paused = true,
            EventKind::Resumed => self.is_paused = false,
            EventKind::Verdict(verdict) => status.verdict = Some(verdict.clone()),
            _ => {}
        }
        self.status.state = self.state();
    }

    fn spend(&mut self, usd: f64, tokens: Tokens) {
        let usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
        self.spent = (self.spent.0 + usd, self.spent.1.plus(tokens));
        (self.status.cost_usd, self.status.tokens) = self.spent;
    }

    fn state(&self) -> RunState {
        let status = &self.status;
        match () {
            () if self.is_watching => RunState::Watching,
            () if status.verdict.is_some() => RunState::Ended,
            () if self.is_paused => RunState::Paused,
            () if status.waiting_until.is_some() => RunState::Waiting,
            () if self.is_between && status.question.is_some() => RunState::Asking,
            () => RunState::Working,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cycle::{IterationOutcome, IterationStarted, QuestionAbout, Receipt};

    fn started(iteration: u32) -> EventKind {
        let start = IterationStarted { iteration, attempt: 1, ..IterationStarted::default() };
        EventKind::IterationStarted(start)
    }

    fn ended(iteration: u32, outcome: IterationOutcome) -> EventKind {
        let receipt = Receipt { outcome, cost_usd: 0.5, ..Receipt::default() };
        EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }
    }

    fn question() -> EventKind {
        let (text, options) = ("Which port?".to_owned(), Vec::new());
        EventKind::Question(Question { iteration: 2, id: "q".into(), about: QuestionAbout::Words, text, options })
    }

    #[test]
    fn the_state_follows_the_events() {
        let mut fold = StatusFold::new("r");
        let answered = EventKind::Answered { id: "q".into(), text: "80".into() };
        let waiting = EventKind::Waiting { iteration: 3, until: 99, reason: "limit".into() };
        for (kind, state, done) in [
            (started(1), RunState::Working, 0),
            (ended(1, IterationOutcome::Progress), RunState::Working, 1),
            (EventKind::Paused, RunState::Paused, 1),
            (EventKind::Resumed, RunState::Working, 1),
            (started(2), RunState::Working, 1),
            (question(), RunState::Working, 1),
            (ended(2, IterationOutcome::Blocked), RunState::Asking, 2),
            (answered, RunState::Working, 2),
            (waiting, RunState::Waiting, 2),
            (started(3), RunState::Working, 2),
        ] {
            fold.fold(&kind.at(1));
            let status = fold.status();
            assert_eq!((status.state, status.iterations_done), (state, done), "{status:?}");
        }
        assert_eq!((fold.status().cost_usd, fold.status().iteration), (1.0, 3));
        fold.watch();
        assert_eq!(fold.status().state, RunState::Watching);
    }
}
