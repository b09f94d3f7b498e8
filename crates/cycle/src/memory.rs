//! The memory of a run: a fold over its own events. A run that goes on after `kill -9` folds
//! its recording and has the same memory again.

use crate::{
    EventKind, IterationOutcome, LoopEvent, Question, Receipt, RefusedClaim, RunVerdict, Spent, Tokens, Transport,
    WorkItem,
};
use std::collections::VecDeque;

/// What the next prompt tells of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub iteration: u32,
    pub text: String,
}

/// A summary longer than this is no summary (an agent gave a megabyte once).
const ENTRY_MAX: usize = 2000;
/// Bytes of all entries where nobody summarises, or summaries fail: the oldest fall out of the prompt.
const ENTRIES_MAX: usize = 64 * 1024;
/// Notes for the next prompt.
const NOTES_MAX: usize = 20;
const NOTE_MAX: usize = 8 * 1024;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    pub run: String,
    /// Iterations that count.
    pub iterations: u32,
    /// Ended iterations and summaries; time is that of the run, waits included.
    pub spent: Spent,
    pub session: Option<String>,
    pub progress: VecDeque<Progress>,
    pub summary: Option<String>,
    /// The last iteration that the summary covers.
    pub summarised: u32,
    /// The last iteration that a summary was tried for, also where it failed.
    pub summary_tried: u32,
    /// Whether any iteration changed something.
    pub changed: bool,
    /// Whether the API has answered in this run.
    pub reached: bool,
    /// The last iteration's claim, where it was not believed.
    pub refused: Option<RefusedClaim>,
    /// What the run was started for.
    pub work: Option<WorkItem>,
    /// For the next prompt: what was in the way, steering, answers.
    pub notes: Vec<String>,
    pub question: Option<Question>,
    pub verdict: Option<RunVerdict>,
    /// The commit that the run began at.
    pub base: Option<String>,
    /// Reviews that found something, since a person last answered one.
    pub review_rounds: u32,
    /// A person lets the work pass without review.
    pub review_waived: bool,
    /// How the agent turned out to want to be spoken with.
    pub transport: Option<Transport>,
    delivered: usize,
    last_at: Option<u64>,
}

impl Memory {
    pub fn fold(&mut self, event: &LoopEvent) {
        self.pass_time(event);
        match &event.kind {
            EventKind::RunStarted(start) => {
                self.run.clone_from(&start.run);
                self.verdict = None;
                if self.base.is_none() {
                    self.base.clone_from(&start.head);
                }
            }
            EventKind::IterationStarted(_) => self.delivered = self.notes.len(),
            EventKind::IterationEnded { iteration, receipt } => self.iteration_ended(*iteration, receipt),
            EventKind::Summarised { through, summary, cost_usd, tokens } => {
                self.spend(*cost_usd, *tokens);
                self.summary = Some(summary.clone());
                self.summarised = *through;
                self.summary_tried = *through;
                self.progress.retain(|entry| entry.iteration > *through);
            }
            EventKind::SummaryFailed { through, cost_usd, tokens, .. } => {
                self.spend(*cost_usd, *tokens);
                self.summary_tried = *through;
            }
            EventKind::Work(work) => self.work = Some(work.clone()),
            EventKind::Transport { transport, .. } => self.transport = Some(*transport),
            EventKind::Question(question) => self.question = Some(question.clone()),
            EventKind::Reviewed { found, cost_usd, tokens, .. } => {
                self.spend(*cost_usd, *tokens);
                self.review_rounds += u32::from(*found);
            }
            EventKind::Answered { id, text } => {
                if id.starts_with(crate::review::QUESTION) {
                    self.review_rounds = 0;
                    self.review_waived = text.trim().eq_ignore_ascii_case(crate::review::APPROVE);
                }
                let asked = self.question.take().map(|question| question.text).unwrap_or_default();
                self.note(&format!("You asked: {asked}\nThe answer: {text}"));
            }
            EventKind::Steered { text, .. } => self.note(&format!("From the person in charge: {text}")),
            EventKind::Verdict(verdict) => self.verdict = Some(verdict.clone()),
            _ => {}
        }
    }

    /// Time between two starts of one run is not the run's.
    fn pass_time(&mut self, event: &LoopEvent) {
        if let (Some(last), false) = (self.last_at, matches!(event.kind, EventKind::RunStarted(_))) {
            self.spent.time_ms = self.spent.time_ms.saturating_add(event.at.saturating_sub(last));
        }
        self.last_at = Some(event.at);
    }

    /// The run's wall time at `now`.
    pub fn time_at(&self, now: u64) -> u64 {
        let since = self.last_at.map_or(0, |last| now.saturating_sub(last));
        self.spent.time_ms.saturating_add(since)
    }

    fn iteration_ended(&mut self, iteration: u32, receipt: &Receipt) {
        self.spend(receipt.cost_usd, receipt.tokens);
        if receipt.session.is_some() {
            self.session.clone_from(&receipt.session);
        }
        self.changed |= is_change(receipt);
        self.reached |= receipt.tokens.total() > 0;
        // Iterations that did not come to their end are given the same notes again.
        if matches!(receipt.outcome, IterationOutcome::Deferred | IterationOutcome::Interrupted) {
            return;
        }
        self.iterations = self.iterations.max(iteration);
        self.reached |= !matches!(receipt.outcome, IterationOutcome::Failed { .. });
        self.refused.clone_from(&receipt.refused);
        self.notes.drain(..self.delivered.min(self.notes.len()));
        self.delivered = 0;
        if !matches!(receipt.outcome, IterationOutcome::Blocked) {
            self.question = None;
        }
        if let Some(blocking) =
            receipt.blocking.as_ref().filter(|_| !matches!(receipt.outcome, IterationOutcome::Blocked))
        {
            self.note(blocking);
        }
        if !receipt.summary.trim().is_empty() {
            let text = crate::bounded(receipt.summary.trim(), ENTRY_MAX);
            self.progress.push_back(Progress { iteration, text });
            while self.progress.iter().map(|entry| entry.text.len()).sum::<usize>() > ENTRIES_MAX {
                self.progress.pop_front();
            }
        }
    }

    fn spend(&mut self, usd: f64, tokens: Tokens) {
        if usd.is_finite() && usd > 0.0 {
            self.spent.usd += usd;
        }
        self.spent.tokens = self.spent.tokens.plus(tokens);
    }

    fn note(&mut self, text: &str) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(crate::bounded(text, NOTE_MAX));
        }
    }
}

/// Whether an iteration changed something. Where git cannot tell, a tool call may have.
pub(crate) fn is_change(receipt: &Receipt) -> bool {
    receipt.changed.any() || (!receipt.changed.known && receipt.tool_calls > 0)
}
