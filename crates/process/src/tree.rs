//! The tree of processes below us: reaping and ending it.

use crate::table::{self, Row};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often to look whether the last process has gone. Short, because leaving quickly matters, and
/// only paid while there is something to end.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// How long we wait while everything left is killed. Killed processes are gone in milliseconds. What takes longer is
/// stuck in the kernel, or forks faster than it is found: the watcher goes on killing it when we are gone.
pub(crate) const KILLING: Duration = Duration::from_millis(800);

/// Children with a [`crate::Child`] to collect their status. Any other child of ours was adopted or
/// abandoned and is reaped by whoever comes along.
static OWNED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Held over fork and registration, so that a child is never reaped before it is known.
pub fn owned() -> MutexGuard<'static, BTreeSet<i32>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// First processes of boxes: ours to collect, and nobody else's to end.
static APART: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn apart() -> MutexGuard<'static, BTreeSet<i32>> {
    APART.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn keep_apart(pid: i32) {
    owned().insert(pid);
    apart().insert(pid);
}

pub fn is_apart(pid: i32) -> bool {
    apart().contains(&pid)
}

pub fn forget_apart(pid: i32) {
    apart().remove(&pid);
    owned().remove(&pid);
}

/// Processes that outlive us by intention ([`crate::start_detached`]).
static DETACHED: Mutex<Vec<Row>> = Mutex::new(Vec::new());

/// The remembered processes; ended ones are forgotten first.
const DETACHED_MAX: usize = 1024;

pub(crate) fn let_go(pid: i32) {
    let mut detached = DETACHED.lock().unwrap_or_else(PoisonError::into_inner);
    if detached.len() >= DETACHED_MAX {
        detached.retain(|one| table::row(one.pid).is_some_and(|row| row.same_process(one)));
    }
    detached.extend(table::row(pid));
}

pub(crate) fn detached() -> Vec<Row> {
    DETACHED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Without detached processes that run, and all below them.
fn without_detached(below: Vec<Row>) -> Vec<Row> {
    let detached = detached();
    let roots: Vec<Row> =
        below.iter().filter(|row| !row.zombie && detached.iter().any(|one| one.same_process(row))).copied().collect();
    if roots.is_empty() {
        return below;
    }
    let spared: BTreeSet<i32> = roots
        .iter()
        .flat_map(|root| table::descendants(&below, root.pid).into_iter().map(|row| row.pid).chain([root.pid]))
        .collect();
    below.into_iter().filter(|row| !spared.contains(&row.pid)).collect()
}

pub fn pid(raw: i32) -> Option<Pid> {
    Pid::from_raw(raw).filter(|pid| pid.as_raw_nonzero().get() > 1)
}

/// Orphans in our tree become our children instead of init's, so that a process that forked twice or
/// made its own session can still be found and ended. Without effect outside Linux.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // A kernel that refuses leaves the groups and sessions we still know.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Keeps children from reading our memory and our environment, where credentials are.
pub fn harden() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// A file that has reached its size limit (`ulimit -f`) fails the write that came too late, like a full disk,
/// instead of ending us. Children get the usual behaviour back.
pub fn outlive_file_limits() {
    // SAFETY: SIG_IGN is a valid disposition for this signal, and nothing else here sets one for it.
    #[expect(unsafe_code, reason = "no safe interface sets what a signal does")]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Collects adopted children that have ended, so that a long session does not pile up zombies.
pub(crate) fn reap_adopted() {
    let owned = owned();
    while let Some(ended) = first_ended_child() {
        // An owned one in front hides the others; its owner is about to collect it.
        if owned.contains(&ended.as_raw_nonzero().get()) || !reap(ended) {
            return;
        }
    }
}

fn reap(ended: Pid) -> bool {
    matches!(rustix::process::waitpid(Some(ended), WaitOptions::NOHANG), Ok(Some(_)))
}

/// Looks without collecting.
fn first_ended_child() -> Option<Pid> {
    // SAFETY: siginfo_t is plain data for which all zeroes is a valid value.
    #[expect(unsafe_code, reason = "the safe interface does not tell which child ended")]
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a valid siginfo_t that outlives the call.
    #[expect(unsafe_code, reason = "the safe interface does not tell which child ended")]
    let status = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) };
    if status != 0 {
        return None;
    }
    // SAFETY: waitid succeeded, so the field is that of a child's end, or zero when none has ended.
    #[expect(unsafe_code, reason = "siginfo_t is a union")]
    pid(unsafe { info.si_pid() })
}

pub(crate) fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Who below us is alive. Ended ones that nobody owns are collected on the way.
pub fn alive() -> Vec<Row> {
    let me = me();
    let below = without_detached(table::descendants(&table::snapshot(), me));
    let owned = owned();
    for row in below.iter().filter(|row| row.zombie && row.parent == me && !owned.contains(&row.pid)) {
        pid(row.pid).map(reap);
    }
    below.into_iter().filter(|row| !row.zombie && !is_apart(row.pid)).collect()
}

pub fn signal_each(rows: &[Row], signal: Signal) {
    for row in rows {
        if let Some(pid) = pid(row.pid) {
            // Gone in the meantime is what we want.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

pub(crate) fn signal_group(leader: Pid, signal: Signal) {
    let _ = rustix::process::kill_process_group(leader, signal);
}

pub(crate) fn me() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// Our own children, adopted ones included, without the first processes of boxes, the watcher and what is detached. Cheap.
pub(crate) fn children() -> Vec<i32> {
    let numbers = listed_children(&threads(me()));
    let apart = apart();
    let detached = detached();
    let is_detached = |pid: i32| {
        let known = detached.iter().find(|one| one.pid == pid);
        known.is_some_and(|one| table::row(pid).is_some_and(|row| row.same_process(one)))
    };
    numbers.into_iter().filter(|pid| !apart.contains(pid) && !is_detached(*pid)).collect()
}

pub(crate) fn threads(of: i32) -> Vec<PathBuf> {
    std::fs::read_dir(format!("/proc/{of}/task"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}

/// The children that these threads have started or adopted, ended ones that nobody has collected included.
pub(crate) fn listed_children(threads: &[PathBuf]) -> Vec<i32> {
    let listed = threads.iter().filter_map(|thread| std::fs::read_to_string(thread.join("children")).ok());
    listed
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .collect()
}

/// Where the table is empty (not Linux) the groups we started are all we can name.
pub(crate) fn signal_all(rows: &[Row], signal: Signal) {
    if rows.is_empty() {
        let leaders: Vec<i32> = owned().iter().copied().collect();
        for leader in leaders.into_iter().filter_map(pid) {
            signal_group(leader, signal);
        }
    }
    signal_each(rows, signal);
}

/// How long a left-behind process gets between being asked to end and being killed.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);

/// Processes that a child of ours has left behind: adopted by us, owned by no [`crate::Child`], with all below them.
fn orphans() -> Vec<Row> {
    let owned = owned().clone();
    let adopted: Vec<i32> = children().into_iter().filter(|pid| !owned.contains(pid)).collect();
    if adopted.is_empty() {
        return Vec::new();
    }
    let rows = table::snapshot();
    let below: BTreeSet<i32> =
        adopted.iter().flat_map(|root| table::descendants(&rows, *root)).map(|row| row.pid).collect();
    rows.into_iter().filter(|row| !row.zombie && (adopted.contains(&row.pid) || below.contains(&row.pid))).collect()
}

/// Ends what children of ours have left behind, once those children are gone themselves. Costs a look at our own children
/// where there is nothing to end. Without effect where orphans are not adopted ([`adopt_orphans`]).
pub async fn end_orphans() {
    reap_adopted();
    let asked = orphans();
    if asked.is_empty() {
        return;
    }
    signal_each(&asked, Signal::TERM);
    signal_each(&asked, Signal::CONT);
    let patience = Instant::now() + ORPHAN_GRACE;
    let deadline = patience + KILLING;
    loop {
        sleep(LOOK).await;
        reap_adopted();
        let left = orphans();
        let now = Instant::now();
        if left.is_empty() || now >= deadline {
            return;
        }
        if now >= patience {
            signal_each(&left, Signal::KILL);
        }
    }
}
