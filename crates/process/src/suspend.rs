//! Ctrl-Z: what we started stops with us, and goes on with us.
//!
//! Children have sessions of their own, so the terminal's stop does not reach them; an agent that works on
//! while its loop stands still is not what a person asked for.

use crate::table::Row;
use crate::tree;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Follows every such stop, for as long as it is polled.
pub async fn follow_suspensions() {
    let Ok(mut told) = signal(SignalKind::from_raw(Signal::TSTP.as_raw())) else { return };
    while told.recv().await.is_some() {
        let below = stop_below();
        stop_here();
        // Continued.
        tree::signal_each(&below, Signal::CONT);
    }
}

/// A process may fork between the look and the stop, so that there is one more; not for ever, since what is
/// stopped forks no more.
const ROUNDS: usize = 10;

fn stop_below() -> Vec<Row> {
    let mut stopped: Vec<Row> = Vec::new();
    for _ in 0..ROUNDS {
        let mut more = tree::alive();
        more.retain(|row| !stopped.iter().any(|known| known.same_process(row)));
        if more.is_empty() {
            break;
        }
        tree::signal_each(&more, Signal::STOP);
        stopped.append(&mut more);
    }
    stopped
}

/// Stops this process as if nobody had listened for the signal: the kernel's own rule, which leaves alone a
/// process that no shell could ever continue, then holds.
fn stop_here() {
    // SAFETY: an all-zero sigaction is a valid value of that plain C struct: the default disposition.
    #[expect(unsafe_code, reason = "only the default disposition stops a process the kernel's way")]
    let (default, mut ours): (libc::sigaction, libc::sigaction) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: both point to live locals; the handler that is replaced is put back below, before anybody can
    // miss a signal that is not a stop.
    #[expect(unsafe_code, reason = "only the default disposition stops a process the kernel's way")]
    if unsafe { libc::sigaction(libc::SIGTSTP, &raw const default, &raw mut ours) } != 0 {
        return;
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TSTP);
    // SAFETY: `ours` was filled by the call above.
    #[expect(unsafe_code, reason = "only the default disposition stops a process the kernel's way")]
    let _ = unsafe { libc::sigaction(libc::SIGTSTP, &raw const ours, std::ptr::null_mut()) };
}
