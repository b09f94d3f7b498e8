//! The state of a run between two decisions.

use crate::stuck::Stuck;
use crate::{Allowance, IterationReport, LoopEvent, Memory, Plan, Progress, Spent, VerdictKind};

#[derive(Debug, Clone, PartialEq)]
pub struct LoopState {
    pub(crate) plan: Plan,
    pub(crate) memory: Memory,
    pub(crate) phase: Phase,
    /// The run's clock: when the last decision was taken.
    pub(crate) now: u64,
    pub(crate) attempt: u32,
    pub(crate) corrections: u32,
    /// Failed iterations in a row.
    pub(crate) failures: u32,
    /// Waits in a row for a usage limit.
    pub(crate) waits: u32,
    /// The models that are at their usage limit, and the model in use.
    pub(crate) ways: crate::fallback::Fallbacks,
    /// The outage that lasts, where one does.
    pub(crate) outage: Option<OutageSoFar>,
    /// The endpoint has sent an HTTP answer.
    pub(crate) answered: bool,
    pub(crate) stuck: Stuck,
    pub(crate) strategy: Option<String>,
    /// Finish this iteration, then end.
    pub(crate) stopping: bool,
    pub(crate) pausing: bool,
    /// Today, and what earlier runs used of it.
    pub(crate) day: i64,
    pub(crate) day_before: Spent,
    /// The run's sums when this day began.
    pub(crate) day_mark: Spent,
}

/// An outage that lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutageSoFar {
    pub since: u64,
    pub tries: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    New,
    /// With what the summariser has used so far.
    Summarising(Spent),
    Working(Working),
    Checking(Box<IterationReport>),
    /// The checks agree; another agent looks at the work.
    Reviewing(Box<Reviewing>),
    /// Until then, before the next iteration.
    Waiting(u64),
    Paused,
    Asking,
    Over,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reviewing {
    pub report: IterationReport,
    pub evidence: Vec<String>,
    /// Of the verdict, where the reviewer approves.
    pub reason: String,
    /// Reviewers that gave no clear answer.
    pub tries: u32,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Working {
    pub since: u64,
    /// What it has used so far.
    pub spent: Spent,
    /// Why it was told to stop.
    pub cut: Option<Cut>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cut {
    /// A limit of this iteration only.
    Iteration(String),
    /// A limit of the run or the day.
    Run(String),
    Person(VerdictKind),
}

/// An iteration to start: the data for its prompt and its process.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationStart {
    pub iteration: u32,
    pub attempt: u32,
    pub model: String,
    /// The number of the model: 0 is the run's own, 1 the first of `fallback`.
    pub way: usize,
    /// To go on in.
    pub session: Option<String>,
    /// A prompt section for a loop that got nowhere.
    pub strategy: Option<String>,
    pub notes: Vec<String>,
    /// What this run was started for, where a watching loop found it.
    pub work: Option<crate::WorkItem>,
    pub summary: Option<String>,
    pub progress: Vec<Progress>,
    /// The tightest of all limits.
    pub allowance: Allowance,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl LoopState {
    /// `memory` is that of an earlier part of the run, or empty. `today` is what other runs used today.
    pub fn new(plan: Plan, memory: Memory, today: Spent, tree: Option<u64>, now: u64) -> Self {
        let mut stuck = Stuck::default();
        stuck.begin(tree);
        let day_mark = memory.spent;
        let ways = crate::fallback::Fallbacks::new(plan.fallback.len());
        let mut state = Self {
            plan,
            memory,
            phase: Phase::New,
            now,
            attempt: 1,
            corrections: 0,
            failures: 0,
            waits: 0,
            ways,
            outage: None,
            answered: false,
            stuck,
            strategy: None,
            stopping: false,
            pausing: false,
            day: 0,
            day_before: today,
            day_mark,
        };
        state.day = state.day_of(now);
        state
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Remembers an event that the runner emitted.
    pub fn remember(&mut self, event: &LoopEvent) {
        self.memory.fold(event);
    }

    /// Whether a person's answer is waited for.
    pub fn is_asking(&self) -> bool {
        self.phase == Phase::Asking
    }

    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// What all runs of this day have used, with what this one has used of it.
    pub fn day_spent(&self) -> Spent {
        self.day_before.plus(self.day_own())
    }

    /// What this run has used of this day, since it was started or resumed.
    pub fn day_own(&self) -> Spent {
        self.run_spent().since(self.day_mark)
    }

    /// Today, as a number of days.
    pub fn day(&self) -> i64 {
        self.day
    }

    /// Takes what all other runs have used today: they may run at the same time.
    pub fn set_day_others(&mut self, others: Spent) {
        self.day_before = others;
    }

    /// Whether no iteration can follow: the number of them, or a limit, is used up.
    pub(crate) fn is_used_up(&self) -> bool {
        let most = self.plan.limits.iterations;
        (most > 0 && self.memory.iterations >= most) || self.limit_reached().is_some()
    }

    /// Whether an iteration can follow the one that is ending.
    pub(crate) fn has_another(&self) -> bool {
        let most = self.plan.limits.iterations;
        most == 0 || self.iteration() < most
    }

    /// The iteration that is running or comes next.
    pub(crate) fn iteration(&self) -> u32 {
        self.memory.iterations.saturating_add(1)
    }

    pub(crate) fn run_spent(&self) -> Spent {
        let working = match &self.phase {
            Phase::Working(Working { spent, .. }) | Phase::Summarising(spent) => Spent { time_ms: 0, ..*spent },
            _ => Spent::default(),
        };
        // Wall time runs between events too.
        Spent { time_ms: self.memory.time_at(self.now), ..self.memory.spent.plus(working) }
    }

    pub(crate) fn pass_time(&mut self, now: u64) {
        self.now = now.max(self.now);
        let day = self.day_of(self.now);
        if day != self.day {
            self.day = day;
            self.day_before = Spent::default();
            self.day_mark = self.run_spent();
        }
    }

    fn day_of(&self, now: u64) -> i64 {
        i64::try_from(now).unwrap_or(i64::MAX).saturating_add(self.plan.day_offset_ms).div_euclid(DAY_MS)
    }

    /// A limit of the run or the day that is reached.
    pub(crate) fn limit_reached(&self) -> Option<String> {
        let limits = &self.plan.limits;
        let run = limits.run.reached(self.run_spent()).map(|words| format!("limit of the run: {words}"));
        run.or_else(|| limits.day.reached(self.day_spent()).map(|words| format!("limit of the day: {words}")))
    }

    /// When the time of the run or the day is used up, where it is limited.
    pub(crate) fn time_ends(&self) -> Option<u64> {
        let limits = &self.plan.limits;
        let left = limits.run.left(self.run_spent()).tighter(limits.day.left(self.day_spent())).time_ms?;
        Some(self.now.saturating_add(left))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        let limits = &self.plan.limits;
        let (run, day) = (limits.run.left(self.run_spent()), limits.day.left(self.day_spent()));
        limits.iteration.tighter(run).tighter(day)
    }
}
