//! Whom the watcher has to end: the children that we have started, and every process that became our child because its
//! parents ended.
//!
//! The kernel says when a known process ends. Then its own children are ours, so our list of children is read again: what
//! detached itself step by step is followed as long as we live. A child that outlives us by intention is left out.

use crate::table::{self, Row};
use crate::tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// The number of remembered processes. Those that are gone, with all of their session, are forgotten first.
const REMEMBERED: usize = 4096;

/// Processes whose end the kernel tells us. Each costs a descriptor, of which there may be 1,024.
const FOLLOWED: usize = 512;

/// Between two looks at our children while there are processes whose end nobody tells us.
const LOOK: Duration = Duration::from_millis(50);

/// Looks in a row when a child is gone before it could be followed: one that forks and exits without end is left to the
/// next event.
const LOOKS: u32 = 100;

pub(super) struct Known {
    owner: i32,
    rows: Vec<Row>,
    followed: Vec<(Row, OwnedFd)>,
    /// Those that outlive us.
    spared: Vec<Row>,
    misses_ends: bool,
}

impl Known {
    pub(super) fn new(owner: i32) -> Self {
        Self { owner, rows: Vec::new(), followed: Vec::new(), spared: Vec::new(), misses_ends: false }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// A child that we have started. A negative number is one that outlives us.
    pub(super) fn learn(&mut self, number: i32) {
        if number > 0 {
            self.add(number);
        } else if let Some(row) = table::row(-number) {
            self.rows.retain(|one| !one.same_process(&row));
            self.followed.retain(|(one, _)| !one.same_process(&row));
            self.spared.push(row);
            if self.spared.len() > REMEMBERED {
                self.spared.retain(|one| table::row(one.pid).is_some_and(|row| row.same_process(one)));
            }
        }
    }

    /// Waits until the pipe says something, or one of the known has ended. Whether it was the pipe.
    pub(super) fn wait(&mut self, pipe: BorrowedFd<'_>) -> bool {
        let mut all = vec![PollFd::from_borrowed_fd(pipe, PollFlags::IN)];
        all.extend(self.followed.iter().map(|(_, end)| PollFd::new(end, PollFlags::IN)));
        let limit = self.misses_ends.then(|| Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() });
        if poll(&mut all, limit.as_ref()).is_err() {
            // Nothing can be waited for. Reading the pipe waits, too.
            return true;
        }
        let is_ready: Vec<bool> = all.iter().map(|one| !one.revents().is_empty()).collect();
        let mut has_ended = is_ready.iter().skip(1);
        let before = self.followed.len();
        self.followed.retain(|_| !has_ended.next().copied().unwrap_or_default());
        if self.followed.len() < before || self.misses_ends {
            self.look();
        }
        is_ready.first().copied().unwrap_or_default()
    }

    /// Our children, adopted ones included.
    fn look(&mut self) {
        for _ in 0..LOOKS {
            let threads = tree::threads(self.owner);
            let missed = tree::listed_children(&threads).into_iter().filter(|pid| !self.add(*pid)).count();
            if missed == 0 {
                return;
            }
        }
    }

    /// False if it is gone before anything is known of it: its own children are ours by now.
    fn add(&mut self, pid: i32) -> bool {
        let Some(row) = table::row(pid) else { return false };
        let is_known = |rows: &[Row]| rows.iter().any(|one| one.same_process(&row));
        if is_known(&self.rows) || is_known(&self.spared) || super::ends_by_itself(pid) {
            return true;
        }
        self.rows.push(row);
        if self.rows.len() > REMEMBERED {
            let all = table::snapshot();
            self.rows.retain(|one| all.iter().any(|row| row.session == one.pid || row.same_process(one)));
        }
        let end = tree::pid(pid).filter(|_| self.followed.len() < FOLLOWED);
        match end.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            Some(Ok(end)) => self.followed.push((row, end)),
            Some(Err(rustix::io::Errno::SRCH)) => return false,
            _ => self.misses_ends = true,
        }
        true
    }
}
