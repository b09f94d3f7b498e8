//! Ends everything below us. Nothing is left then: nothing that runs, and nothing that has ended and waits to be collected.

use crate::early;
use crate::spec::Exit;
use crate::tree::{self, KILLING, LOOK};
use crate::watcher;
use rustix::process::{Signal, WaitOptions};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Quick looks at our own children between two looks at everybody: what forks, detaches and exits in a loop becomes our
/// child at every step, and is gone before a whole table is read.
const QUICK_LOOKS: u32 = 200;

/// Ends every process below us: asks, waits up to `grace`, then kills. Returns at once when there is
/// none. For the end of the run: an owner's [`crate::Child`] still tells how its process ended.
pub async fn end_all(grace: Duration) {
    if !tree::has_children() {
        return;
    }
    tree::reap_adopted();
    if only_watcher_is_left() {
        watcher::dismiss();
        return;
    }
    if ended_all(grace).await {
        watcher::dismiss();
    }
    collect_ended();
}

/// Whether nothing is left.
async fn ended_all(grace: Duration) -> bool {
    let asked = tree::alive();
    tree::signal_all(&asked, Signal::TERM);
    // A stopped process acts on TERM only once it continues.
    tree::signal_all(&asked, Signal::CONT);
    let patience = Instant::now() + grace;
    while Instant::now() < patience {
        if tree::alive().is_empty() {
            return true;
        }
        sleep(LOOK).await;
    }
    let deadline = Instant::now() + KILLING;
    // Repeated, since a process may fork between the look and the kill.
    loop {
        let left = tree::alive();
        if left.is_empty() {
            return true;
        }
        tree::signal_all(&left, Signal::KILL);
        if Instant::now() >= deadline {
            return false;
        }
        kill_children_quickly();
        sleep(LOOK).await;
    }
}

/// Whether the watcher is our only child. Then nothing else is below us, since orphans become our children, and nobody has
/// to read the table of all processes. Not known where the kernel has no such list (then it is empty), nor while a thread
/// ends, whose children move to another thread.
fn only_watcher_is_left() -> bool {
    let Some(watcher) = watcher::pid() else { return false };
    let threads_before = tree::threads(tree::me());
    tree::listed_children(&threads_before) == [watcher] && tree::threads(tree::me()) == threads_before
}

fn kill_children_quickly() {
    for _ in 0..QUICK_LOOKS {
        for child in tree::children().into_iter().filter_map(tree::pid) {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
    }
}

/// Collects every ended child of ours, first processes of boxes excepted.
fn collect_ended() {
    let mut owned = tree::owned();
    for raw in tree::children() {
        let Some(pid) = tree::pid(raw) else { continue };
        let Ok(Some((_, status))) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) else { continue };
        if owned.remove(&raw) {
            early::keep(raw, Exit::of(status));
        }
    }
}
