//! File work off the async thread: bounded in time, told when nobody waits for it any more.

use crate::ToolOutcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the caller waits past a worker's own deadline before it answers without it. Workers look at
/// the clock between files and chunks, so only a stuck file system or parser gets this far.
const GRACE: Duration = Duration::from_secs(5);

/// Asked by workers between steps.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    dropped: Arc<AtomicBool>,
    deadline: Instant,
}

impl Stop {
    pub(crate) fn after(limit: Duration) -> Self {
        Self { dropped: Arc::new(AtomicBool::new(false)), deadline: Instant::now() + limit }
    }

    pub(crate) fn now(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Dropping the future drops this, which tells the worker.
struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) async fn run(
    tool: &'static str,
    limit: Duration,
    work: impl FnOnce(&Stop) -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    let stop = Stop::after(limit);
    let _guard = OnDrop(Arc::clone(&stop.dropped));
    let worker = tokio::task::spawn_blocking(move || work(&stop));
    match tokio::time::timeout(limit + GRACE, worker).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_panicked)) => {
            ToolOutcome::error(format!("{tool} failed inside, on this input; try another way to reach the goal."))
        }
        Err(_elapsed) => ToolOutcome::error(format!(
            "{tool} did not finish within {} s; ask for less, or check whether the file system responds.",
            limit.as_secs()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[tokio::test]
    async fn a_panic_is_an_error_result() {
        let outcome = run("Read", GRACE, |_| panic!("boom")).await;
        assert!(outcome.is_error());
    }

    #[tokio::test]
    async fn dropping_the_future_stops_the_worker() {
        let (told, heard) = std::sync::mpsc::channel();
        let (started, ready) = tokio::sync::oneshot::channel();
        let work = run("Grep", Duration::from_mins(1), move |stop| {
            let _ = started.send(());
            while !stop.now() {
                std::thread::yield_now();
            }
            let _ = told.send(());
            ToolOutcome::text("", Value::Null)
        });
        tokio::select! {
            _ = work => panic!("the worker ended by itself"),
            _ = ready => {}
        }
        assert!(heard.recv_timeout(Duration::from_secs(10)).is_ok());
    }
}
