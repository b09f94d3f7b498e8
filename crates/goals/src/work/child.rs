//! The loop as a child: `ralph --json`, its events followed line by line.

use super::Job;
use super::beat::Lease;
use super::line_reader::LineReader;
use crate::checkout::Checkout;
use crate::error::GoalError;
use crate::goal::Amount;
use crate::repository::Repository;
use crate::store::Checkpoint;
use process::{Output, Piped, Spec, Stdin};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Shorter waits are not worth giving the slot away.
const WAIT_IN_SLOT_MS: i64 = 10_000;
/// Between asking the loop to end and killing it: it ends its agent in the meantime.
const GRACE: Duration = Duration::from_secs(5);
/// Another worker may have the goal already: no grace but for the kernel.
const LOST_GRACE: Duration = Duration::from_millis(200);
/// Events go to the store this often.
const SHIP_EVERY: Duration = Duration::from_secs(1);
/// Kept while the store cannot be reached; older ones are dropped.
const PENDING_MAX: usize = 10_000;

/// Derived from the agent's lines, or those lines themselves: a replay makes them anew.
const NOT_STORED: [&str; 2] = ["agent", "usage"];

/// Events that may come between the end of an iteration and its commit.
const BEFORE_COMMIT: [&str; 3] = ["iteration_ended", "todo", "warning"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopEnd {
    Verdict {
        kind: String,
        reason: String,
        question: Option<String>,
    },
    /// A usage limit, for so long.
    Waits {
        for_ms: i64,
        reason: String,
    },
    /// It ended without a verdict.
    Died {
        code: i32,
        started: bool,
        words: String,
    },
    Cancelled,
    Stopped,
}

/// What was heard of a run so far.
#[derive(Debug, Default)]
pub struct Heard {
    pub run: Option<String>,
    pub iteration: i64,
    /// Iterations that failed, one after the other.
    pub failures: u32,
    pub verdict: Option<LoopEnd>,
    started: bool,
    /// An iteration is over, and its commit comes before the next event.
    checkpoint_due: bool,
    settled: i64,
}

pub struct Following<'a> {
    pub job: &'a Job,
    pub repo: &'a Repository,
    pub clone: &'a Checkout,
    pub heard: Heard,
    pending: Vec<String>,
    /// The number of the first pending line.
    first: i64,
    /// The last commit that was saved.
    saved: Option<String>,
}

impl<'a> Following<'a> {
    pub fn new(job: &'a Job, repo: &'a Repository, clone: &'a Checkout) -> Self {
        let heard = Heard { run: job.goal.run.clone(), iteration: job.goal.iteration, ..Heard::default() };
        Self { job, repo, clone, heard, pending: Vec::new(), first: 1, saved: None }
    }

    /// Runs the loop with these words to its end, or until it has to end.
    pub async fn run(&mut self, words: Vec<String>) -> Result<LoopEnd, GoalError> {
        self.heard.verdict = None;
        let options = &self.job.worker.options;
        let spec = Spec {
            program: options.exe.clone().into_os_string(),
            args: words.into_iter().map(OsString::from).collect(),
            cwd: self.clone.folder.clone(),
            env: options.env.iter().filter(|(name, _)| name != "RALPH_STORE").cloned().collect(),
            stdin: Stdin::Null,
            output: Output::Pipes,
            arg0: None,
        };
        let mut child = Piped::spawn(spec).map_err(|error| GoalError::Start(error.to_string()))?;
        let Some((stdin, stdout)) = child.take_pipes() else {
            return Err(GoalError::Start("the loop has no pipes".into()));
        };
        drop(stdin);
        let mut lines = LineReader::new(stdout);
        let (mut lease, mut stop) = (self.job.lease.clone(), self.job.stop.clone());
        let mut ship_at = Instant::now() + SHIP_EVERY;
        loop {
            let now = *lease.borrow_and_update();
            if now == Lease::Lost {
                child.stop(LOST_GRACE).await;
                return Err(self.job.lost());
            }
            if now == Lease::Cancel || *stop.borrow_and_update() {
                child.stop(GRACE).await;
                return Ok(if now == Lease::Cancel { LoopEnd::Cancelled } else { LoopEnd::Stopped });
            }
            tokio::select! {
                line = lines.next() => {
                    let Some(line) = line else { break };
                    if let Some(end) = self.hear(line).await? {
                        child.stop(GRACE).await;
                        return Ok(end);
                    }
                }
                _ = lease.changed() => {}
                _ = stop.changed() => {}
                () = sleep_until(ship_at) => {
                    self.ship().await;
                    ship_at = Instant::now() + SHIP_EVERY;
                }
            }
        }
        let exit = child.wait().await;
        let died = LoopEnd::Died { code: exit.shell_code(), started: self.heard.started, words: child.last_words() };
        Ok(self.heard.verdict.take().unwrap_or(died))
    }

    /// One event. `Some`: the loop is to be stopped.
    async fn hear(&mut self, line: String) -> Result<Option<LoopEnd>, GoalError> {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { return Ok(None) };
        let kind = event["type"].as_str().unwrap_or_default();
        // The loop shows its todo list before it commits.
        if self.heard.checkpoint_due && !BEFORE_COMMIT.contains(&kind) {
            self.heard.checkpoint_due = false;
            self.checkpoint().await?;
        }
        let partial = event["partial"] == Value::Bool(true);
        if !NOT_STORED.contains(&kind) && !partial {
            self.pending.push(line);
        }
        match kind {
            "run_started" => {
                self.heard.started = true;
                self.heard.run = event["run"].as_str().map(str::to_owned);
            }
            "iteration_started" => self.heard.iteration = event["iteration"].as_i64().unwrap_or(0),
            "iteration_ended" => {
                let failed = event["receipt"]["outcome"]["failure"].is_string();
                self.heard.failures = if failed { self.heard.failures + 1 } else { 0 };
                self.settle(&event["receipt"]).await?;
                self.heard.checkpoint_due = true;
            }
            "summarised" => self.settle(&event).await?,
            "waiting" => {
                let (until, at) = (event["until"].as_i64().unwrap_or(0), event["at"].as_i64().unwrap_or(0));
                if until - at > WAIT_IN_SLOT_MS {
                    let reason = event["reason"].as_str().unwrap_or("a usage limit").to_owned();
                    return Ok(Some(LoopEnd::Waits { for_ms: until - at, reason }));
                }
            }
            "verdict" => {
                let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
                let question = event["question"]["text"].as_str().or(event["question"].as_str()).map(str::to_owned);
                self.heard.verdict = Some(LoopEnd::Verdict { kind: text("verdict"), reason: text("reason"), question });
            }
            _ => {}
        }
        Ok(None)
    }

    async fn settle(&mut self, costs: &Value) -> Result<(), GoalError> {
        let tokens = &costs["tokens"];
        let counts = ["input", "output", "cache_read", "cache_write"].map(|name| tokens[name].as_u64().unwrap_or(0));
        let cost =
            Amount::new(costs["cost_usd"].as_f64().unwrap_or(0.0), counts.into_iter().fold(0, u64::saturating_add));
        self.heard.settled += 1;
        let (goal, number) = (&self.job.goal, self.heard.settled);
        self.job.insist(|| self.job.worker.store.settle(goal.id, goal.fence, number, cost)).await
    }

    /// Keeps the commits and where the loop stands.
    pub async fn checkpoint(&mut self) -> Result<String, GoalError> {
        self.ship().await;
        let (goal, store) = (&self.job.goal, &self.job.worker.store);
        let head = self.clone.head().await?;
        if self.saved.as_ref() != Some(&head) {
            let bundle = self.repo.save(self.clone, &head, goal.id, goal.fence).await?;
            if let Some(bundle) = bundle {
                self.job.insist(|| store.keep_bundle(goal.id, goal.fence, &head, bundle.clone())).await?;
            }
            self.saved = Some(head.clone());
        }
        let at = Checkpoint { iteration: self.heard.iteration, head: Some(head.clone()), run: self.heard.run.clone() };
        self.job.insist(|| store.checkpoint(goal.id, goal.fence, &at)).await?;
        self.job.die_at("checkpointed");
        Ok(head)
    }

    /// Brings events to the store. Where it cannot be reached they wait.
    pub async fn ship(&mut self) {
        let (goal, store) = (&self.job.goal, &self.job.worker.store);
        if store.append(goal.id, goal.fence, self.first, &self.pending).await.is_ok() {
            self.first += i64::try_from(self.pending.len()).unwrap_or(0);
            self.pending.clear();
        } else if self.pending.len() > PENDING_MAX {
            let surplus = self.pending.len() - PENDING_MAX;
            self.pending.drain(..surplus);
            self.first += i64::try_from(surplus).unwrap_or(0);
        }
    }
}
