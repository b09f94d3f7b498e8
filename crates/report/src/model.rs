//! The data of a report: a fold over the run's events.

use cycle::{CheckFinished, EventKind, IterationOutcome, LoopEvent, Receipt, RunStarted, RunVerdict, Tokens, WorkItem};

/// Iterations that are kept; a run of more is told by its last ones.
const ITERATIONS_MAX: usize = 2000;
/// Questions, steering, warnings, checks of an iteration.
const NOTES_MAX: usize = 200;
const CHECKS_MAX: usize = 50;

#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The last one: a run that went on began more than once.
    pub start: Option<RunStarted>,
    pub started: u64,
    pub last_at: u64,
    pub work: Option<WorkItem>,
    pub iterations: Vec<Iteration>,
    pub asked: Vec<Asked>,
    /// Iteration and words.
    pub steered: Vec<(u32, String)>,
    pub warnings: Vec<String>,
    pub verdict: Option<RunVerdict>,
    checks: Vec<CheckFinished>,
}

/// An iteration that ended.
#[derive(Debug, Clone)]
pub struct Iteration {
    pub number: u32,
    pub receipt: Receipt,
    pub checks: Vec<CheckFinished>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub id: String,
    pub question: String,
    pub options: Vec<String>,
    pub answer: Option<String>,
}

impl Report {
    pub fn fold(&mut self, event: &LoopEvent) {
        self.last_at = event.at;
        match &event.kind {
            EventKind::RunStarted(start) => {
                if self.start.is_none() {
                    self.started = event.at;
                }
                self.start = Some((**start).clone());
                self.verdict = None;
            }
            EventKind::Work(work) => self.work = Some(work.clone()),
            EventKind::CheckFinished(check) if self.checks.len() < CHECKS_MAX => self.checks.push(check.clone()),
            EventKind::IterationEnded { iteration, receipt } => {
                let checks = std::mem::take(&mut self.checks);
                self.iterations.push(Iteration { number: *iteration, receipt: (**receipt).clone(), checks });
                if self.iterations.len() > ITERATIONS_MAX {
                    self.iterations.remove(0);
                }
            }
            EventKind::Question(question) if self.asked.len() < NOTES_MAX => self.asked.push(Asked {
                id: question.id.clone(),
                question: question.text.clone(),
                options: question.options.clone(),
                answer: None,
            }),
            EventKind::Answered { id, text } => {
                let open = self.asked.iter_mut().rev().find(|asked| asked.id == *id);
                if let Some(open) = open {
                    open.answer = Some(text.clone());
                }
            }
            EventKind::Steered { iteration, text } if self.steered.len() < NOTES_MAX => {
                self.steered.push((*iteration, text.clone()));
            }
            EventKind::Warning { text, .. } if self.warnings.len() < NOTES_MAX => self.warnings.push(text.clone()),
            EventKind::Verdict(verdict) => self.verdict = Some(verdict.clone()),
            _ => {}
        }
    }

    pub fn title(&self) -> &str {
        self.start.as_ref().map_or("", |start| start.title.as_str())
    }

    pub fn run(&self) -> &str {
        self.start.as_ref().map_or("", |start| start.run.as_str())
    }

    pub fn cost_usd(&self) -> f64 {
        let sum: f64 = self.iterations.iter().map(|one| amount(one.receipt.cost_usd)).sum();
        self.verdict.as_ref().map_or(sum, |verdict| amount(verdict.cost_usd))
    }

    pub fn tokens(&self) -> Tokens {
        let sum = || self.iterations.iter().fold(Tokens::default(), |sum, one| sum.plus(one.receipt.tokens));
        self.verdict.as_ref().map_or_else(sum, |verdict| verdict.tokens)
    }

    /// The newest check of each command.
    pub fn last_checks(&self) -> Vec<&CheckFinished> {
        let mut last: Vec<&CheckFinished> = Vec::new();
        for check in self.iterations.iter().rev().flat_map(|one| one.checks.iter().rev()) {
            if !last.iter().any(|known| known.command == check.command) {
                last.push(check);
            }
        }
        last.reverse();
        last
    }

    /// Every commit of the run, oldest first, as `hash subject`.
    pub fn commits(&self) -> Vec<&str> {
        self.iterations.iter().flat_map(|one| one.receipt.changed.commits.iter().rev()).map(String::as_str).collect()
    }
}

/// A hostile cost must not spoil a sum.
pub(crate) fn amount(usd: f64) -> f64 {
    if usd.is_finite() { usd.max(0.0) } else { 0.0 }
}

/// A word for an outcome, and whether it is good, bad or neither.
pub(crate) fn outcome(outcome: &IterationOutcome) -> (&'static str, &'static str) {
    match outcome {
        IterationOutcome::Progress => ("progress", ""),
        IterationOutcome::NoProgress => ("no change", "dim"),
        IterationOutcome::Done => ("done", "good"),
        IterationOutcome::NotDone => ("not done", "bad"),
        IterationOutcome::Blocked => ("asks", "bad"),
        IterationOutcome::Failed { .. } => ("failed", "bad"),
        IterationOutcome::Deferred => ("did not count", "dim"),
        IterationOutcome::Interrupted => ("interrupted", "dim"),
        IterationOutcome::Cut => ("limit", "bad"),
    }
}
