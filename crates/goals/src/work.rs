//! A worker: claims goals, works on each in a slot, and gives everything back when it is told to end.
//!
//! Everything runs on one thread, since children must be started from the thread that lives as long as the process;
//! only the heartbeat has a thread of its own. Deliberately absent: what becomes of a goal (`machine`).

mod attempt;
mod heartbeat;
mod checks;
mod child;
mod land;
mod line_reader;
mod pull_request;
mod review;
mod sweep;

use crate::error::GoalError;
use crate::goal::{Goal, GoalState, Reviewer};
use crate::machine::GoalEvent;
use crate::notify::{self, Target};
use crate::store::{Place, Store, WorkerName};
use heartbeat::{Heartbeat, Lease};
use process::Env;
use sandbox::{Rules, Sandbox};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep};

/// How often an idle worker looks for goals.
const LOOK: Duration = Duration::from_millis(250);
/// A store that cannot be reached is asked again.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// Clones of workers that are gone are looked for this often.
const SWEEP: Duration = Duration::from_secs(30);
/// After trouble that is not the goal's doing.
const TROUBLE_PAUSE_MS: i64 = 30_000;

/// The sandbox rules of a folder, from the settings.
pub type RulesFor = Box<dyn Fn(&Path) -> Result<Option<Rules>, GoalError>>;
/// Lets agents work in a clone (second) on their own, as they may in the repository that it was made of.
pub type TrustClone = Box<dyn Fn(&str, &Path) -> Result<(), GoalError>>;
/// Takes that permission back for clones in this folder that were removed.
pub type ForgetClone = Box<dyn Fn(&Path)>;
/// How a reviewer is started in a folder.
pub type ReviewerFor = Box<dyn Fn(&Reviewer, &Path) -> Result<ReviewCommand, GoalError>>;

/// An agent that only looks.
pub struct ReviewCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Env,
    /// The box around an agent that does not make its own.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// For people: one line about a goal.
pub type Say = Box<dyn Fn(&str)>;
/// A goal that has left its slot.
pub type Ended = Box<dyn Fn(&Goal)>;

pub struct WorkOptions {
    pub place: Place,
    pub state: PathBuf,
    pub slots: usize,
    /// End when nothing is left to do.
    pub drain: bool,
    pub lease: Duration,
    pub host: String,
    /// This program.
    pub exe: PathBuf,
    pub env: Env,
    pub rules: RulesFor,
    pub trust_clone: TrustClone,
    pub forget_clone: ForgetClone,
    pub reviewer: ReviewerFor,
    pub say: Say,
    pub ended: Ended,
    pub notify: Vec<Target>,
    /// Writes to the terminal as it is.
    pub terminal: Say,
    /// For tests: the step at which the process ends itself as by `kill -9`.
    pub die_at: Option<String>,
}

/// What everything in this worker shares.
pub(crate) struct Worker {
    pub store: Store,
    pub options: WorkOptions,
    pub name: WorkerName,
    pub git: process::Git,
    heart: Heartbeat,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    Drained,
    Stopped,
}

/// Works until `stop` becomes true, or until the queue is empty.
pub async fn work(options: WorkOptions, stop: watch::Receiver<bool>) -> Result<WorkEnd, GoalError> {
    let git = process::Git::find(&options.env)
        .ok_or_else(|| GoalError::Start("git is not on PATH, and nothing works without it".into()))?;
    let store = Store::open(&options.place).await?;
    let name = WorkerName { id: unique_name(&options.host), host: options.host.clone() };
    let heart = Heartbeat::start(options.place.clone(), name.clone(), options.lease, options.slots)?;
    let worker = Rc::new(Worker { store, options, name, git, heart });
    LocalSet::new().run_until(run(worker, stop)).await
}

/// No other process has it: not on this machine, not on another, not after this one.
fn unique_name(host: &str) -> String {
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{host}:{}:{}", std::process::id(), started.as_nanos())
}

async fn run(worker: Rc<Worker>, mut stop: watch::Receiver<bool>) -> Result<WorkEnd, GoalError> {
    let mut slots = JoinSet::new();
    let mut swept = None;
    let mut complained = false;
    let end = loop {
        if *stop.borrow() {
            break WorkEnd::Stopped;
        }
        if swept.is_none_or(|at: Instant| at.elapsed() > SWEEP) {
            worker.sweep().await;
            swept = Some(Instant::now());
        }
        let mut pause = LOOK;
        while slots.len() < worker.options.slots {
            match worker.store.claim(&worker.name, worker.lease_ms()).await {
                Ok(Some(goal)) => {
                    complained = false;
                    let lease = worker.heart.hold(goal.id, goal.fence);
                    slots.spawn_local(slot(Rc::clone(&worker), goal, lease, stop.clone()));
                }
                Ok(None) => break,
                Err(error) if error.is_passing() => {
                    if !std::mem::replace(&mut complained, true) {
                        worker.say(&format!("warning: {error}; trying again"));
                    }
                    pause = STORE_PAUSE;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if worker.options.drain && slots.is_empty() && worker.store.is_drained(&worker.name.host).await.unwrap_or(false)
        {
            break WorkEnd::Drained;
        }
        tokio::select! {
            Some(_) = slots.join_next() => {}
            _ = stop.changed() => {}
            () = sleep(pause) => {}
        }
    };
    // Slots have seen the wish to stop, too.
    while slots.join_next().await.is_some() {}
    worker.sweep().await;
    let _ = worker.store.leave(&worker.name).await;
    Ok(end)
}

async fn slot(worker: Rc<Worker>, goal: Goal, lease: watch::Receiver<Lease>, stop: watch::Receiver<bool>) {
    let (id, fence) = (goal.id, goal.fence);
    let job = Job { worker: Rc::clone(&worker), goal, lease, stop };
    let done = match job.goal.state {
        GoalState::Landing => job.land().await,
        GoalState::Review => job.review().await,
        _ => job.attempt().await,
    };
    let done = match done {
        Err(error) if !matches!(error, GoalError::LeaseLost { .. }) => job.give_up(error).await,
        done => done,
    };
    worker.heart.release(id, fence);
    match done {
        Ok(goal) => {
            worker.say(&outcome(&goal));
            (worker.options.ended)(&goal);
            worker.call(&goal).await;
        }
        Err(GoalError::LeaseLost { .. }) => {
            worker.forget_if_done(id).await;
            job.remove_folders();
            worker.say(&format!("goal {id}: another worker has it now"));
        }
        Err(error) => worker.say(&format!("goal {id}: {error}")),
    }
}

fn outcome(goal: &Goal) -> String {
    let why = goal.error.as_deref().or(goal.question.as_deref()).unwrap_or_default();
    let why = why.lines().next().unwrap_or_default();
    let landed =
        goal.landed.as_deref().map(|commit| format!(" ({})", &commit[..commit.len().min(10)])).unwrap_or_default();
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    format!("goal {}: {}{landed}{why}", goal.id, goal.state)
}

/// One claimed goal in one slot.
pub(crate) struct Job {
    pub worker: Rc<Worker>,
    pub goal: Goal,
    pub lease: watch::Receiver<Lease>,
    pub stop: watch::Receiver<bool>,
}

impl Job {
    pub async fn report(&self, happening: GoalEvent) -> Result<Goal, GoalError> {
        self.insist(|| self.worker.store.report(self.goal.id, self.goal.fence, happening.clone())).await
    }

    /// A store that cannot be reached is asked again for as long as the lease holds. A worker that was told to end does
    /// not wait for it: the lease runs out, and another one goes on.
    pub async fn insist<T, F: Future<Output = Result<T, GoalError>>>(
        &self,
        verb: impl Fn() -> F,
    ) -> Result<T, GoalError> {
        loop {
            let asked = verb().await;
            let waits = *self.lease.borrow() != Lease::Lost && !self.is_stopped();
            match asked {
                Err(GoalError::Unreachable { .. } | GoalError::Store { .. }) if waits => {
                    sleep(STORE_PAUSE.min(self.worker.options.lease / 8)).await;
                }
                Err(GoalError::Unreachable { .. } | GoalError::Store { .. }) => return Err(self.lost()),
                done => return done,
            }
        }
    }

    pub fn lost(&self) -> GoalError {
        GoalError::LeaseLost { goal: self.goal.id, fence: self.goal.fence }
    }

    pub fn check_lease(&self) -> Result<(), GoalError> {
        if *self.lease.borrow() == Lease::Lost { Err(self.lost()) } else { Ok(()) }
    }

    pub fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    /// Where this claim has its files.
    pub fn folder(&self, kind: &str) -> PathBuf {
        self.worker.repo_folder(&self.goal.repo).join(format!("{kind}{}-{}", self.goal.id, self.goal.fence))
    }

    /// Something went wrong that nobody expected of the goal.
    async fn give_up(&self, error: GoalError) -> Result<Goal, GoalError> {
        self.remove_folders();
        let why = error.with_hint();
        let passing = error.is_passing() && self.goal.lost < crate::machine::LOST_MAX;
        let happening = if passing {
            let at = self.worker.now().await + TROUBLE_PAUSE_MS;
            GoalEvent::Trouble { at, why: why.trim().to_owned() }
        } else {
            GoalEvent::Hopeless { why: why.trim().to_owned() }
        };
        self.report(happening).await
    }

    fn remove_folders(&self) {
        for kind in sweep::KINDS {
            self.worker.remove_clone(&self.folder(kind));
        }
    }

    /// For tests: ends the process here, as `kill -9` would.
    pub fn die_at(&self, step: &str) {
        if self.worker.options.die_at.as_deref() == Some(step) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

impl Worker {
    fn lease_ms(&self) -> i64 {
        i64::try_from(self.options.lease.as_millis()).unwrap_or(i64::MAX)
    }

    /// The receivers of notifications.
    async fn call(&self, goal: &Goal) {
        let Some(event) = notify::event(goal) else { return };
        for target in &self.options.notify {
            let sent = target.send(&event, &self.options.env, &self.options.state, &self.options.terminal).await;
            if let Err(why) = sent {
                self.say(&format!("warning: nobody was told of goal {}: {why}", goal.id));
            }
        }
    }

    pub fn say(&self, line: &str) {
        (self.options.say)(line);
    }

    /// The store's clock; ours where it cannot be asked.
    pub async fn now(&self) -> i64 {
        if let Ok(now) = self.store.now().await {
            return now;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
    }

    /// Removes the folder of a clone, and the trust that was recorded for it.
    pub fn remove_clone(&self, folder: &Path) {
        if std::fs::remove_dir_all(folder).is_ok() {
            (self.options.forget_clone)(folder);
        }
    }

    /// Clones of one store and one repository: what is trusted together.
    pub fn repo_folder(&self, repo: &str) -> PathBuf {
        self.clones().join(crate::repository::short_name(repo))
    }

    pub fn clones(&self) -> PathBuf {
        self.options.state.join("clones").join(crate::repository::short_name(&self.store.name()))
    }

    pub fn repository(&self, source: &str) -> crate::repository::Repository {
        crate::repository::Repository::new(&self.git, source, &self.options.state, self.store.id())
    }
}
