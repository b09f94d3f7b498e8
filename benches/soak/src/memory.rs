//! What a process uses, by the kernel's account.

use std::time::Duration;

/// The kernel counts processor time in these, whatever its own clock does.
const TICKS_PER_SECOND: u64 = 100;

/// Its own memory and its share of what it shares with others, in MiB. All of it, where only its owner may look:
/// the agent hides from whatever it starts.
pub fn share(pid: u32) -> f64 {
    let share = field(&format!("/proc/{pid}/smaps_rollup"), "Pss:") / 1024.0;
    if share > 0.0 { share } else { resident(pid) }
}

/// All its memory that is in RAM, in MiB.
pub fn resident(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/status"), "VmRSS:") / 1024.0
}

/// The number of KiB behind `name`; nothing for a process that is gone.
fn field(file: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0)
}

/// Processor time so far, its own and the system's for it.
pub fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // Behind the name: user time is the 12th field, system time the 13th.
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS_PER_SECOND)
}
