//! The check of the process at the other end of a Unix socket: somebody of this user, and nobody that this process has started.
//!
//! A run's socket obeys the person in charge. An agent is a program of the same user, so the user's number says nothing of it;
//! its descent does. Orphans below us stay below us ([`crate::adopt_orphans`]), so a process cannot leave its family by
//! forking. Whatever cannot be found out is a refusal.
//!
//! Deliberately absent: systems without a process table. There everybody is refused.

use crate::table::{self, Row};
use crate::watcher;
use std::os::fd::BorrowedFd;

/// Why a peer is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeerRefusal {
    #[error("the peer belongs to another user")]
    OtherUser,
    #[error("the peer was started by this run")]
    Descendant,
    #[error("who started the peer cannot be determined")]
    Unknown,
}

/// Steps from a process up to the first one; a chain of parents is some tens long.
const STEPS_MAX: usize = 1000;

/// Looks at a chain. Parents end while it is read; a chain counts when it is the same twice.
const LOOKS: usize = 5;

/// Whether the peer of `socket` may be served. `uid` and `pid` are what the kernel says of it.
pub fn judge_peer(socket: BorrowedFd<'_>, uid: u32, pid: Option<i32>) -> Result<(), PeerRefusal> {
    if uid != rustix::process::geteuid().as_raw() {
        return Err(PeerRefusal::OtherUser);
    }
    let pid = pid.filter(|pid| *pid > 0).ok_or(PeerRefusal::Unknown)?;
    let me = rustix::process::getpid().as_raw_nonzero().get();
    if pid == me {
        // Our own threads are no agents.
        return Ok(());
    }
    let handle = peer_handle(socket);
    let chain = (0..LOOKS).find_map(|_| stable_chain(pid)).ok_or(PeerRefusal::Unknown)?;
    // The number may belong to another process by now.
    if handle.is_some_and(|handle| !is_alive(&handle)) {
        return Err(PeerRefusal::Unknown);
    }
    judge_chain(&chain, me)?;
    if watcher::is_marked_ours(pid) { Err(PeerRefusal::Descendant) } else { Ok(()) }
}

/// A process and its parents, where two looks agree.
fn stable_chain(pid: i32) -> Option<Vec<Row>> {
    let first = chain(pid)?;
    let second = chain(pid)?;
    let same = first.len() == second.len() && first.iter().zip(&second).all(|(one, other)| one.same_process(other));
    same.then_some(first)
}

/// From a process up to the first one of this namespace. `None` where a link is missing.
fn chain(pid: i32) -> Option<Vec<Row>> {
    let mut rows = Vec::new();
    let mut next = pid;
    while next > 0 {
        rows.push(table::row(next)?);
        next = rows.last()?.parent;
        if rows.len() > STEPS_MAX {
            return None;
        }
    }
    Some(rows)
}

/// Pure: whether a chain leads past `me`. A process that ended is nobody, and a parent is older than its children.
fn judge_chain(chain: &[Row], me: i32) -> Result<(), PeerRefusal> {
    if chain.first().is_none_or(|row| row.zombie) || chain.windows(2).any(|pair| pair[1].started > pair[0].started) {
        return Err(PeerRefusal::Unknown);
    }
    if chain.iter().any(|row| row.pid == me) { Err(PeerRefusal::Descendant) } else { Ok(()) }
}

/// A handle on the very process that connected. `None` before Linux 6.5.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe interface returns a handle of a peer")]
fn peer_handle(socket: BorrowedFd<'_>) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut handle: libc::c_int = -1;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `handle` and `size` are valid for writes of the sizes that they are named with, and outlive the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut handle).cast::<libc::c_void>(),
            &raw mut size,
        )
    };
    // SAFETY: the kernel has just made this descriptor for us, and nobody else has it.
    (status == 0 && handle >= 0).then(|| unsafe { std::os::fd::OwnedFd::from_raw_fd(handle) })
}

#[cfg(not(target_os = "linux"))]
fn peer_handle(_socket: BorrowedFd<'_>) -> Option<std::os::fd::OwnedFd> {
    None
}

/// A handle becomes readable when its process ends.
fn is_alive(handle: &std::os::fd::OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ends = [PollFd::new(handle, PollFlags::IN)];
    poll(&mut ends, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: i32, parent: i32, started: u64) -> Row {
        Row { pid, parent, group: pid, session: pid, zombie: false, started }
    }

    #[test]
    fn a_chain_that_leads_through_us_is_a_descendant() {
        let init = row(1, 0, 0);
        let judged = |rows: &[Row]| judge_chain(rows, 50);
        assert_eq!(judged(&[row(70, 60, 9), row(60, 1, 8), init]), Ok(()));
        assert_eq!(judged(&[row(70, 50, 9), row(50, 1, 8), init]), Err(PeerRefusal::Descendant));
        assert_eq!(judged(&[row(70, 60, 9), row(60, 50, 8), row(50, 1, 7)]), Err(PeerRefusal::Descendant));
        assert_eq!(judged(&[]), Err(PeerRefusal::Unknown));
        assert_eq!(judged(&[Row { zombie: true, ..row(70, 1, 9) }, init]), Err(PeerRefusal::Unknown));
        assert_eq!(
            judged(&[row(70, 60, 9), row(60, 1, 10)]),
            Err(PeerRefusal::Unknown),
            "a number that was used again"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn other_users_and_numbers_of_nobody_are_refused() {
        use std::os::fd::AsFd as _;
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let judged = |uid, pid| judge_peer(one.as_fd(), uid, pid);
        assert_eq!(judged(uid + 1, Some(1)), Err(PeerRefusal::OtherUser));
        for pid in [None, Some(0), Some(-1), Some(i32::MAX)] {
            assert_eq!(judged(uid, pid), Err(PeerRefusal::Unknown), "{pid:?}");
        }
        assert_eq!(judged(uid, Some(rustix::process::getpid().as_raw_nonzero().get())), Ok(()));
    }
}
