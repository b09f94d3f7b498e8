//! Stopping a turn from outside it: an interrupt, a signal, a reader that left.

use std::cell::Cell;
use std::future::Future;
use tokio::sync::Notify;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

/// Who stopped the turn. A client that interrupts goes on talking; a signal ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Client,
    Signal,
    ReaderLeft,
}

/// One per process; re-armed before each turn.
#[derive(Default)]
pub struct Cancel {
    why: Cell<Option<Why>>,
    changed: Notify,
}

impl Cancel {
    pub fn cancel(&self, why: Why) {
        self.why.set(Some(why));
        self.changed.notify_waiters();
    }

    pub fn rearm(&self) {
        self.why.set(None);
    }

    /// An interrupted turn is an error unless the client wanted just that.
    pub fn is_error(&self) -> bool {
        self.why.get() != Some(Why::Client)
    }

    /// Runs `work` until it is done or the turn is cancelled; cancelled work is dropped, and what it
    /// started is gone when this returns.
    pub async fn guard<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        let changed = self.changed.notified();
        if self.why.get().is_some() {
            return Err(Cancelled);
        }
        let done = tokio::select! {
            biased;
            () = changed => Err(Cancelled),
            done = work => Ok(done),
        };
        if done.is_err() {
            process::killed_are_gone().await;
        }
        done
    }
}
