//! One running process with everything it started.

use crate::confine::Confine;
use crate::early;
use crate::killed::{self, KILLED_WAIT, remaining};
use crate::launch::{Inside, Launched, launch};
use crate::spec::{Exit, SpawnError, Spec};
use crate::table::{self, Row};
use crate::tree;
use crate::watcher;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

/// The kernel tells us when a child ends; this is only for the day it does not.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);

/// How often to look when no notice can be had at all (out of descriptors, say).
const LOOK_BLIND: Duration = Duration::from_millis(20);

/// How often a stopping child's family is counted.
const LOOK_STOPPING: Duration = Duration::from_millis(10);

/// A process that leads its own session. Dropping it kills it and all it started (see
/// [`crate::killed_are_gone`]), unless it ended by itself: then what it left running is left alone until [`crate::end_all`].
#[derive(Debug)]
pub struct Child {
    leader: Pid,
    exit: Option<Exit>,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Child {
    pub fn spawn(spec: Spec) -> Result<Self, SpawnError> {
        Self::start(spec, None)
    }

    /// Starts it in a sandbox, or not at all. `also` are files that it may write besides.
    pub fn spawn_inside(spec: Spec, sandbox: &dyn Confine, also: &[PathBuf]) -> Result<Self, SpawnError> {
        Self::start(spec, Some((sandbox, also)))
    }

    pub(crate) fn start(spec: Spec, inside: Inside<'_>) -> Result<Self, SpawnError> {
        tree::reap_adopted();
        // Before the lock: the watcher is registered, too.
        let is_watched = watcher::is_watching();
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        let mut owned = tree::owned();
        let spawned = launch(spec, inside, is_watched).and_then(|launched| {
            let leader = tree::pid(launched.pid).ok_or(std::io::ErrorKind::Other)?;
            Ok((leader, launched))
        });
        let (leader, launched) = spawned.map_err(|cause| SpawnError::new(program, cwd, cause))?;
        owned.insert(leader.as_raw_nonzero().get());
        // Of an earlier process with this number, whose owner never asked.
        early::take(leader.as_raw_nonzero().get());
        drop(owned);
        watcher::tell(leader.as_raw_nonzero().get());
        let Launched { stdin, stdout, stderr, .. } = launched;
        Ok(Self { leader, exit: None, stdin, stdout, stderr })
    }

    fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    pub fn pid(&self) -> u32 {
        self.number().unsigned_abs()
    }

    /// Waits for the end. May be cancelled and called again.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.known_exit() {
            return exit;
        }
        self.ended().await;
        self.collect()
    }

    fn known_exit(&mut self) -> Option<Exit> {
        self.exit = self.exit.or_else(|| early::take(self.number()));
        self.exit
    }

    /// Asks everything this child started to end, and kills what is left after `grace`.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        if let Some(exit) = self.known_exit() {
            return exit;
        }
        let asked = self.family();
        tree::signal_group(self.leader, Signal::TERM);
        // Once each: a second TERM would run a shell's trap twice.
        let elsewhere: Vec<Row> = asked.iter().filter(|row| row.group != self.number()).copied().collect();
        tree::signal_each(&elsewhere, Signal::TERM);
        tree::signal_each(&asked, Signal::CONT);
        let patience = Instant::now() + grace;
        while Instant::now() < patience && !(self.has_ended() && remaining(&asked).is_empty()) {
            sleep(LOOK_STOPPING).await;
        }
        // Not collected yet, so the leader's number still belongs to it and its group.
        tree::signal_each(&remaining(&asked), Signal::KILL);
        let killed = self.kill();
        // Stuck in the kernel: `collect` then reports what we sent, and the process is reaped later.
        let _ = timeout(KILLED_WAIT, self.ended()).await;
        // Those asked too: one whose parent went first is not found among the family any more.
        killed::gone(asked.into_iter().chain(killed).collect()).await;
        self.collect()
    }

    fn kill(&self) -> Vec<Row> {
        if early::has(self.number()) {
            return Vec::new();
        }
        let family = self.family();
        tree::signal_group(self.leader, Signal::KILL);
        tree::signal_each(&family, Signal::KILL);
        family
    }

    fn family(&self) -> Vec<Row> {
        table::members(&table::snapshot(), self.number())
    }

    /// Completes when the process has ended, and leaves its status to be collected.
    async fn ended(&self) {
        // Listening starts before the look: an end in between is not missed.
        let mut notices = signal(SignalKind::child()).ok();
        while !self.has_ended() {
            notice(&mut notices).await;
        }
    }

    fn has_ended(&self) -> bool {
        if early::has(self.number()) {
            return true;
        }
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is no such child any more.
        !matches!(rustix::process::waitid(WaitId::Pid(self.leader), look), Ok(None))
    }

    fn collect(&mut self) -> Exit {
        if let Some(exit) = self.known_exit() {
            return exit;
        }
        let status = rustix::process::waitpid(Some(self.leader), WaitOptions::NOHANG);
        tree::owned().remove(&self.number());
        let exit = match status {
            Ok(Some((_, status))) => Exit::of(status),
            Ok(None) => Exit { code: None, signal: Some(Signal::KILL.as_raw()) },
            Err(_) => Exit { code: None, signal: None },
        };
        self.exit = Some(exit);
        tree::reap_adopted();
        exit
    }
}

/// A child of ours has ended, perhaps.
pub(crate) async fn notice(notices: &mut Option<Signals>) {
    match notices {
        Some(signals) => {
            let _ = timeout(LOOK_ANYWAY, signals.recv()).await;
        }
        None => sleep(LOOK_BLIND).await,
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.known_exit().is_none() {
            killed::remember(self.kill());
            // From here on it is reaped like an adopted one.
            tree::owned().remove(&self.number());
        }
    }
}
