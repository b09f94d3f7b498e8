//! The process table: who descends from whom. Pure but for [`snapshot`] and [`row`].
//!
//! Only Linux has one here; elsewhere it is empty and process groups alone are signalled.

use std::collections::HashSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub zombie: bool,
    /// Ticks since boot: with `pid` it names a process even after the number is used again.
    pub started: u64,
}

impl Row {
    pub(crate) fn same_process(&self, other: &Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }
}

/// One line of `/proc/<pid>/stat`. The name in parentheses may itself hold spaces and parentheses.
pub(crate) fn parse(stat: &str) -> Option<Row> {
    let (head, tail) = stat.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let mut fields = tail.split_ascii_whitespace();
    let state = fields.next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // Field 22 of the line; the session was field 6.
    let started = fields.nth(15)?.parse().ok()?;
    Some(Row { pid, parent, group, session, zombie: matches!(state, "Z" | "X"), started })
}

/// All below `root`, without it.
pub(crate) fn descendants(rows: &[Row], root: i32) -> Vec<Row> {
    let mut family = HashSet::from([root]);
    // A child's number may be smaller than its parent's, so repeat until nobody is added.
    loop {
        let before = family.len();
        for row in rows {
            if family.contains(&row.parent) {
                family.insert(row.pid);
            }
        }
        if family.len() == before {
            break;
        }
    }
    rows.iter().filter(|row| row.pid != root && family.contains(&row.pid)).copied().collect()
}

/// What belongs to a child that leads its own session: its group, its session, its descendants.
pub(crate) fn members(rows: &[Row], leader: i32) -> Vec<Row> {
    let below = descendants(rows, leader);
    rows.iter()
        .filter(|row| row.group == leader || row.session == leader || below.iter().any(|other| other.pid == row.pid))
        .copied()
        .collect()
}

#[cfg(target_os = "linux")]
pub(crate) fn snapshot() -> Vec<Row> {
    // A process may end between listing and reading.
    pids().into_iter().filter_map(row).collect()
}

/// The numbers of all processes.
#[cfg(target_os = "linux")]
pub(crate) fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The number of the process that was started last, the fifth field of `/proc/loadavg`. Numbers begin again at some point.
#[cfg(target_os = "linux")]
pub(crate) fn newest() -> Option<i32> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().nth(4)?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn newest() -> Option<i32> {
    None
}

/// Whether the kernel made this process for itself: it has no environment, and never gets one.
#[cfg(target_os = "linux")]
pub(crate) fn is_kernel_thread(pid: i32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    has_kernel_flag(&String::from_utf8_lossy(&stat))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_kernel_thread(_pid: i32) -> bool {
    false
}

/// `PF_KTHREAD` of the flags, field 9 of `/proc/<pid>/stat`; the field after the name is field 3.
fn has_kernel_flag(stat: &str) -> bool {
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let flags = stat.rsplit_once(')').and_then(|(_, tail)| tail.split_ascii_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pids() -> Vec<i32> {
    Vec::new()
}

/// One process, if there is one of that number.
#[cfg(target_os = "linux")]
pub fn row(pid: i32) -> Option<Row> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&stat))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn snapshot() -> Vec<Row> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub fn row(_pid: i32) -> Option<Row> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(pid: i32, parent: i32, group: i32, session: i32) -> Row {
        Row { pid, parent, group, session, zombie: false, started: 1 }
    }

    fn line(name: &str, state: char) -> String {
        format!("77 ({name}) {state} 5 70 60 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9001 10 11\n")
    }

    #[test]
    fn names_may_hold_anything() {
        for name in ["bash", "a b", "x) S 1 1 1 (y", "", "))"] {
            let expected = Row { pid: 77, parent: 5, group: 70, session: 60, zombie: false, started: 9001 };
            assert_eq!(parse(&line(name, 'S')), Some(expected), "{name:?}");
        }
        assert!(parse(&line("dead", 'Z')).is_some_and(|row| row.zombie));
    }

    #[test]
    fn threads_of_the_kernel_are_told_by_their_flag() {
        assert!(!has_kernel_flag(&line("bash", 'S')));
        let kernel = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n";
        assert!(has_kernel_flag(kernel));
        assert!(!has_kernel_flag("2 (x) S 0 0\n") && !has_kernel_flag(""));
        #[cfg(target_os = "linux")]
        assert!(!is_kernel_thread(std::process::id().cast_signed()));
    }

    #[test]
    fn torn_lines_are_nobody() {
        for stat in ["", "77", "77 (x", "77 (x) S", "x (y) S 1 2 3", "77 (x) S 1 2 3 0 -1"] {
            assert_eq!(parse(stat), None, "{stat:?}");
        }
    }

    #[test]
    fn members_are_group_session_and_descendants() {
        let rows = [
            row(10, 1, 10, 10),
            row(11, 10, 10, 10),
            row(12, 11, 12, 12), // its own session, but a grandchild
            row(13, 1, 13, 10),  // reparented, a job's own group, still in the session
            row(9, 12, 9, 9),    // a smaller number than its parent
            row(20, 1, 20, 20),
        ];
        let pids: Vec<i32> = members(&rows, 10).iter().map(|row| row.pid).collect();
        assert_eq!(pids, [10, 11, 12, 13, 9]);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(stat in ".{0,200}") {
            let _ = parse(&stat);
        }

        #[test]
        fn descendants_end_even_when_the_table_has_a_cycle(pairs in proptest::collection::vec((0..30, 0..30), 0..60)) {
            let rows: Vec<Row> = pairs.into_iter().map(|(pid, parent)| row(pid, parent, 0, 0)).collect();
            prop_assert!(descendants(&rows, 0).iter().all(|row| row.pid != 0));
        }
    }
}
