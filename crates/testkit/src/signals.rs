//! Signals that whoever started the tests ignores (`nohup`, `&` in a script) would be ignored by every program under
//! test, and no signal of a test would arrive.

use std::sync::Once;
use tokio::signal::unix::{SignalKind, signal};

/// Signals that tests send, and that are commonly inherited as ignored.
const SENT: [i32; 4] = [1, 2, 3, 15];

/// Gives ignored signals a handler in this process: a program that it starts gets the default for them.
pub fn reset_ignored_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored: Vec<i32> = SENT.into_iter().filter(|number| is_ignored(*number)).collect();
        if ignored.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        let _inside = runtime.enter();
        for number in ignored {
            // The handler stays when the listener is dropped.
            let _ = signal(SignalKind::from_raw(number));
        }
    });
}

fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(ignored.trim(), 16).is_ok_and(|signals| signals & (1 << (number - 1)) != 0)
}

#[cfg(test)]
#[path = "signals_tests.rs"]
mod tests;
