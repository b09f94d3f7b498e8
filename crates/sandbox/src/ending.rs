//! The end of every confined process where the box is no namespace of processes.

use process::table::Row;
use process::tree::{alive, signal_each};
use rustix::process::Signal;
use std::time::Duration;

/// Rounds of looks for confined processes, and how many of them in a row must find nobody.
const CONFINED_LOOKS: u32 = 2000;
const CONFINED_CLEAN: u32 = 3;

/// Ends every confined process below us, for boxes that are no namespace of processes, and says whether all are gone. Known
/// by what a box makes of a process for good: it has a filter of system calls more than we have. Kernels that do not count
/// filters (before 5.9) tell only where we have none ourselves; elsewhere the end of the run ends them.
pub(crate) fn end_confined() -> bool {
    let own = filters("self");
    let mut clean = 0;
    for _ in 0..CONFINED_LOOKS {
        let found: Vec<Row> = alive().into_iter().filter(|row| filters(&row.pid.to_string()) > own).collect();
        signal_each(&found, Signal::STOP);
        signal_each(&found, Signal::KILL);
        clean = if found.is_empty() { clean + 1 } else { 0 };
        if clean >= CONFINED_CLEAN {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// How many filters of system calls a process has; where the kernel does not count them, whether it has any.
fn filters(pid: &str) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let number = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    number("Seccomp_filters:").or_else(|| number("Seccomp:")).unwrap_or(0)
}
