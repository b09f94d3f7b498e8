//! The one way to start a process that outlives us: a run that somebody wants to go on when this process has ended, or a
//! command that must not be cut off in the middle.
//!
//! Such a process has a session of its own, so that no terminal ends it; neither the watcher nor [`crate::end_all`] ends it or what it
//! starts. If we were started by a run ourselves, its mark is in the environment that we pass on: that run still ends all of us.

use crate::child::notice;
use crate::launch::launch_detached;
use crate::spec::{Exit, SpawnError, Spec};
use crate::tree;
use crate::watcher;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

/// A process that goes on when this value is dropped.
#[derive(Debug)]
pub struct Detached {
    child: Child,
}

/// Starts it. Where its output is a file ([`crate::Output::Merged`]), that takes its complaints (stderr); everything else goes nowhere,
/// because nobody will read it.
pub fn start_detached(spec: Spec) -> Result<Detached, SpawnError> {
    let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
    let mut owned = tree::owned();
    let child = launch_detached(spec).map_err(|cause| SpawnError::new(program, cwd, cause))?;
    owned.insert(raw(&child));
    drop(owned);
    tree::let_go(raw(&child));
    watcher::tell_detached(raw(&child));
    Ok(Detached { child })
}

fn raw(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or(0)
}

impl Detached {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, where it has.
    pub fn exit(&mut self) -> Option<Exit> {
        match self.child.try_wait() {
            Ok(status) => status.map(|status| Exit { code: status.code(), signal: status.signal() }),
            Err(_) => Some(Exit { code: None, signal: None }),
        }
    }
}

impl Detached {
    /// Waits for its end, but not for ever. It goes on when nobody waits any more.
    pub async fn wait(&mut self, deadline: Duration) -> Option<Exit> {
        // Listening starts before the look: an end in between is not missed.
        let mut notices = signal(SignalKind::child()).ok();
        let end = Instant::now() + deadline;
        loop {
            if let Some(exit) = self.exit() {
                return Some(exit);
            }
            tokio::time::timeout_at(end, notice(&mut notices)).await.ok()?;
        }
    }

    pub fn kill(&mut self) {
        // One that has ended meanwhile is what we want.
        let _ = self.child.kill();
    }
}

impl Drop for Detached {
    /// From now on this child is reaped with the adopted ones.
    fn drop(&mut self) {
        tree::owned().remove(&raw(&self.child));
    }
}
