//! The heartbeat: prolongs the leases of all slots, on a thread and a connection of its own.
//!
//! A claim counts as lost when the store says so, and when its lease may be over by our own clock: then another worker
//! may have the goal, whether or not the store can be reached.

use crate::error::GoalError;
use crate::goal::{Fence, GoalId};
use crate::store::{Place, Store, WorkerName};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Held,
    /// A person wants the goal to stop.
    Cancel,
    Lost,
}

/// Beats in a lease: three may be missed.
const BEATS: u32 = 4;
/// The part of a lease that is left when a worker stops by itself: time to end its agent.
const MARGIN: u32 = 6;

struct HeldLease {
    tell: watch::Sender<Lease>,
    good_until: Instant,
}

type Claims = Arc<Mutex<HashMap<(GoalId, Fence), HeldLease>>>;

pub struct Heartbeat {
    claims: Claims,
    lease: Duration,
    /// Dropped with the worker; then the thread ends.
    _alive: mpsc::Sender<()>,
}

fn lock(claims: &Claims) -> MutexGuard<'_, HashMap<(GoalId, Fence), HeldLease>> {
    claims.lock().unwrap_or_else(PoisonError::into_inner)
}

fn usable(lease: Duration) -> Duration {
    lease.saturating_sub(lease / MARGIN)
}

impl Heartbeat {
    pub fn start(place: Place, name: WorkerName, lease: Duration, slots: usize) -> Result<Self, GoalError> {
        let claims: Claims = Arc::default();
        let (alive, ended) = mpsc::channel();
        let shared = Arc::clone(&claims);
        let beat = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                beat(&runtime, &place, &name, lease, slots, &shared, &ended);
            }
        };
        let started = std::thread::Builder::new().name("heartbeat".into()).spawn(beat);
        started.map_err(|error| GoalError::Start(format!("the heartbeat cannot be started: {error}")))?;
        Ok(Self { claims, lease, _alive: alive })
    }

    /// Keeps a new claim alive from now on.
    pub fn hold(&self, goal: GoalId, fence: Fence) -> watch::Receiver<Lease> {
        let (tell, hear) = watch::channel(Lease::Held);
        let held = HeldLease { tell, good_until: Instant::now() + usable(self.lease) };
        lock(&self.claims).insert((goal, fence), held);
        hear
    }

    pub fn release(&self, goal: GoalId, fence: Fence) {
        lock(&self.claims).remove(&(goal, fence));
    }
}

fn beat(
    runtime: &tokio::runtime::Runtime,
    place: &Place,
    name: &WorkerName,
    lease: Duration,
    slots: usize,
    claims: &Claims,
    ended: &mpsc::Receiver<()>,
) {
    let mut store = None;
    let lease_ms = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    while ended.recv_timeout(lease / BEATS) == Err(mpsc::RecvTimeoutError::Timeout) {
        // Before the question: the answer prolongs from a later moment, so this errs on the safe side.
        let (asked, known): (_, Vec<_>) = (Instant::now(), lock(claims).keys().copied().collect());
        let beats = runtime.block_on(async {
            if store.is_none() {
                store = Store::open(place).await.ok();
            }
            let store = store.as_ref()?;
            let slots = i64::try_from(slots).unwrap_or(i64::MAX);
            tokio::time::timeout(lease / 2, store.beat(name, lease_ms, slots, &known)).await.ok()?.ok()
        });
        let mut claims = lock(claims);
        for (claim, held) in claims.iter_mut() {
            let news = beats
                .as_ref()
                .filter(|_| known.contains(claim))
                .map(|beats| beats.iter().find(|beat| (beat.goal, beat.fence) == *claim));
            match news {
                Some(Some(beat)) if Instant::now() < held.good_until => {
                    held.good_until = asked + usable(lease);
                    if beat.cancel {
                        held.tell.send_if_modified(|lease| std::mem::replace(lease, Lease::Cancel) != Lease::Cancel);
                    }
                }
                // The store knows nothing of it, or too late.
                Some(_) => drop(held.tell.send_replace(Lease::Lost)),
                None if Instant::now() >= held.good_until => drop(held.tell.send_replace(Lease::Lost)),
                None => {}
            }
        }
    }
}
