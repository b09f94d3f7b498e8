//! A process that outlives us and ends what we started, whatever way we die.
//!
//! It is a copy of this process, in a session of its own, without its descriptors, that reads the numbers of our children
//! from a pipe. The end of the pipe is our death: then it stops and kills those children, everything below them, and
//! every process that has our mark in its environment, until none is left. A process that took the mark out of its
//! environment, detached itself, and lost its parents while we lived has become our child: the watcher follows it
//! ([`known`]). Started with the first child, so that a run without children costs nothing.
//!
//! What is left: a process that does all of this in the moment of our death, before the watcher has seen its parents end.
//!
//! Deliberately absent: boxes. The kernel ends those ([`crate::sandbox`]).

mod known;

use crate::table::{self, Row};
use crate::tree;
use known::Known;
use std::collections::{BTreeSet, HashSet};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The variable by which our children, and theirs, are known.
const MARK: &str = "RALPH_OWNER";

/// The names of copies of this process that end by themselves.
const NAME: &str = "ralph-watch";
const BOX_NAME: &str = "ralph-box";

/// Of an environment; the mark is at its end, but nothing keeps it there.
const ENVIRONMENT_MAX: u64 = 1024 * 1024;

/// Between two looks, when something does not go: it is stuck in the kernel.
const LOOK: Duration = Duration::from_millis(2);
const LOOK_LATER: Duration = Duration::from_millis(500);
/// Looks before that.
const SOON: u32 = 500;

/// Rounds of a hunt, and how many of them in a row find nobody at its end.
const HUNTS: u32 = 1000;
const CLEAN_HUNTS: u32 = 20;
/// Looks for new numbers between two lists of all processes, and how far back one look goes.
const CHASES: u32 = 50;
const CHASED_MAX: i32 = 256;
/// Rounds in which processes are stopped before they are killed. One that forks on and on is caught otherwise.
const STOPS: u32 = 5;

static ENABLED: AtomicBool = AtomicBool::new(false);
static WATCHER: Mutex<Option<Watcher>> = Mutex::new(None);

struct Watcher {
    pid: i32,
    pipe: std::fs::File,
}

impl Watcher {
    fn send(&mut self, number: i32) {
        // A watcher that was killed can be told nothing.
        let _ = self.pipe.write_all(&number.to_ne_bytes());
    }
}

/// From now on, what this process starts is gone when this process is, even if it is killed.
pub fn watch_over() {
    ENABLED.store(cfg!(target_os = "linux"), Ordering::Relaxed);
}

/// The mark for children, where they are watched.
pub(crate) fn mark() -> Option<(&'static str, &'static str)> {
    static OWN: OnceLock<Option<String>> = OnceLock::new();
    if !ENABLED.load(Ordering::Relaxed) {
        return None;
    }
    let own = || Some(Owner::own()?.text());
    OWN.get_or_init(own).as_deref().map(|own| (MARK, own))
}

/// Before a child is started. Without a watcher the death signal has to do.
pub(crate) fn is_watching() -> bool {
    if !ENABLED.load(Ordering::Relaxed) {
        return false;
    }
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if watcher.is_none() {
        *watcher = start().ok();
    }
    watcher.is_some()
}

/// After a child was started.
pub(crate) fn tell(pid: i32) {
    send(pid);
}

/// After a child was started that outlives us.
pub(crate) fn tell_detached(pid: i32) {
    send(-pid);
}

fn send(number: i32) {
    if !ENABLED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(watcher) = WATCHER.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        watcher.send(number);
    }
}

/// The number of the watcher, where one runs.
pub(crate) fn pid() -> Option<i32> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|watcher| watcher.pid)
}

/// When everything has ended: nothing is left to watch.
pub(crate) fn dismiss() {
    let watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(pid) = watcher.and_then(|watcher| tree::pid(watcher.pid)) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        tree::forget_apart(pid.as_raw_nonzero().get());
    }
}

fn start() -> std::io::Result<Watcher> {
    let (reads, writes) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let owner = Owner::own().ok_or(std::io::ErrorKind::NotFound)?;
    let pid = copy(reads.as_raw_fd(), &owner)?;
    tree::keep_apart(pid);
    let mut watcher = Watcher { pid, pipe: OwnedFd::into(writes) };
    for earlier in tree::detached() {
        watcher.send(-earlier.pid);
    }
    Ok(watcher)
}

#[cfg(not(target_os = "linux"))]
fn copy(_pipe: RawFd, _owner: &Owner) -> std::io::Result<i32> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the watcher is a copy of this process that never returns")]
fn copy(pipe: RawFd, owner: &Owner) -> std::io::Result<i32> {
    // SAFETY: `fork` of the C library leaves its allocator usable in the copy. The copy takes no lock of ours, touches
    // only its own memory, and never returns to the code that it was copied from.
    unsafe {
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                libc::setsid();
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
                libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
                libc::prctl(libc::PR_SET_NAME, c"ralph-watch".as_ptr());
                libc::chdir(c"/".as_ptr());
                libc::dup2(pipe, 0);
                libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
                let stdin: std::fs::File = std::os::fd::FromRawFd::from_raw_fd(0);
                watch(stdin, owner);
                libc::_exit(0)
            }
            pid => Ok(pid),
        }
    }
}

/// In the watcher.
fn watch(mut pipe: std::fs::File, owner: &Owner) {
    let mut known = Known::new(owner.pid);
    let mut bytes = [0; 4];
    loop {
        if known.wait(pipe.as_fd()) {
            if pipe.read_exact(&mut bytes).is_err() {
                break;
            }
            known.learn(i32::from_ne_bytes(bytes));
        }
    }
    end_until_gone(known.rows(), |other| other == owner, u32::MAX);
}

/// Goes on until nobody is found any more, or for so many looks.
fn end_until_gone(known: &[Row], is_ours: impl Fn(&Owner) -> bool, most: u32) {
    let mut strangers = HashSet::new();
    for look in 0..most {
        let found = end(known, &is_ours);
        if !hunt(&mut strangers, &is_ours) && !found {
            return;
        }
        std::thread::sleep(if look < SOON { LOOK } else { LOOK_LATER });
    }
}

/// Kills by mark alone, and looks only at processes that are new: what forks and exits in a loop is gone before a whole
/// table is read. Whether anybody was found.
fn hunt(strangers: &mut HashSet<i32>, is_ours: &impl Fn(&Owner) -> bool) -> bool {
    let (mut any, mut clean) = (false, 0);
    for _ in 0..HUNTS {
        let newest = table::newest();
        let fresh: Vec<i32> = table::pids().into_iter().filter(|pid| !strangers.contains(pid)).collect();
        let mut found = kill_marked(fresh, strangers, is_ours);
        found |= newest.is_some_and(|newest| chase(newest, strangers, is_ours));
        any |= found;
        clean = if found { 0 } else { clean + 1 };
        if clean >= CLEAN_HUNTS {
            break;
        }
    }
    any
}

/// Looks at the processes that were started after this one, by their numbers: quicker than a list of all, of which one that
/// forks on and on is always a step ahead on a busy machine.
fn chase(mut newest: i32, strangers: &mut HashSet<i32>, is_ours: &impl Fn(&Owner) -> bool) -> bool {
    let mut any = false;
    for _ in 0..CHASES {
        let Some(now) = table::newest().filter(|now| *now > newest) else { continue };
        any |= kill_marked(newest.max(now - CHASED_MAX) + 1..=now, strangers, is_ours);
        newest = now;
    }
    any
}

fn kill_marked(
    pids: impl IntoIterator<Item = i32>,
    strangers: &mut HashSet<i32>,
    is_ours: &impl Fn(&Owner) -> bool,
) -> bool {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = false;
    for pid in pids {
        match Mark::of(pid) {
            Mark::Owner(owner) if is_ours(&owner) && pid != me && !ends_by_itself(pid) => {
                let _ = tree::pid(pid).map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
                found = true;
            }
            // One that is about to execute a program has no environment for a moment.
            // The kernel's own threads never have one.
            Mark::Unknown if !table::is_kernel_thread(pid) => {}
            Mark::Owner(_) | Mark::None | Mark::Unknown => {
                strangers.insert(pid);
            }
        }
    }
    found
}

/// Ends what an earlier run left behind because it and its watcher were killed. For the start of a run.
pub fn sweep() {
    let Some(own) = Owner::own() else { return };
    let is_dead = |owner: &Owner| {
        let alive = || table::row(owner.pid).is_some_and(|row| row.started == owner.started && !row.zombie);
        owner.namespace == own.namespace && !alive()
    };
    end_until_gone(&[], is_dead, SWEEPS);
}

/// Looks of a sweep: what is left then is stuck.
const SWEEPS: u32 = 100;

/// Stops, then kills, all that is ours; whether there was anything. Stopped first, until nobody new is found: a stopped
/// process starts no others.
fn end(known: &[Row], is_ours: &impl Fn(&Owner) -> bool) -> bool {
    let mut stopped: Vec<Row> = Vec::new();
    for _ in 0..STOPS {
        let rows = table::snapshot();
        let found = ours(&rows, known, is_ours);
        let fresh: Vec<Row> =
            found.into_iter().filter(|row| !stopped.iter().any(|known| known.same_process(row))).collect();
        if fresh.is_empty() {
            break;
        }
        tree::signal_each(&fresh, rustix::process::Signal::STOP);
        stopped.extend(fresh);
    }
    tree::signal_each(&stopped, rustix::process::Signal::KILL);
    !stopped.is_empty()
}

/// Everybody who belongs to `known` by session, group or descent, or has a mark that is ours; with all below them.
fn ours(rows: &[Row], known: &[Row], is_ours: &impl Fn(&Owner) -> bool) -> Vec<Row> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let above = ancestors(rows, me);
    let leaders: BTreeSet<i32> = known.iter().map(|row| row.pid).collect();
    let belongs = |row: &Row| {
        known.iter().any(|one| one.same_process(row))
            || known.iter().any(|one| row.started >= one.started && (row.session == one.pid || row.group == one.pid))
    };
    let marked = |row: &Row| matches!(Mark::of(row.pid), Mark::Owner(owner) if is_ours(&owner));
    let mut found: Vec<Row> = rows.iter().filter(|row| belongs(row) || marked(row)).copied().collect();
    for root in found.clone() {
        if leaders.contains(&root.pid) || !root.zombie {
            found.extend(table::descendants(rows, root.pid));
        }
    }
    found.sort_by_key(|row| row.pid);
    found.dedup_by_key(|row| row.pid);
    found.retain(|row| {
        !row.zombie && row.pid > 1 && row.pid != me && !above.contains(&row.pid) && !ends_by_itself(row.pid)
    });
    found
}

fn ancestors(rows: &[Row], of: i32) -> BTreeSet<i32> {
    let mut above = BTreeSet::new();
    let mut next = of;
    while let Some(row) = rows.iter().find(|row| row.pid == next) {
        if !above.insert(row.parent) {
            break;
        }
        next = row.parent;
    }
    above
}

/// Another watcher, or the first process of a box: its own pipe ends.
fn ends_by_itself(pid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // A copy of a hardened process does not say what program it is, except to root. Then its name has to do: whoever
    // gives himself such a name to escape could as well kill the watcher.
    let is_copy = || match std::fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(exe) => std::fs::read_link("/proc/self/exe").is_ok_and(|own| own == exe),
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    };
    [NAME, BOX_NAME].contains(&name.trim()) && is_copy()
}

/// Whether the environment of a process says that we started it.
pub(crate) fn is_marked_ours(pid: i32) -> bool {
    ENABLED.load(Ordering::Relaxed)
        && matches!(Mark::of(pid), Mark::Owner(owner) if Owner::own().is_some_and(|own| own == owner))
}

/// Who started a process: a number, since when, and in which namespace that is its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Owner {
    namespace: String,
    pid: i32,
    started: u64,
}

impl Owner {
    fn own() -> Option<Self> {
        let row = table::row(rustix::process::getpid().as_raw_nonzero().get())?;
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Some(Self { namespace: digits, pid: row.pid, started: row.started })
    }

    fn text(&self) -> String {
        format!("{}-{}-{}", self.namespace, self.pid, self.started)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let namespace = parts.next()?.to_owned();
        Some(Self { namespace, pid: parts.next()?.parse().ok()?, started: parts.next()?.parse().ok()? })
    }
}

/// What the environment of a process says of its owner.
enum Mark {
    Owner(Owner),
    None,
    /// It has no environment, or not one that we may read.
    Unknown,
}

impl Mark {
    fn of(pid: i32) -> Self {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(format!("/proc/{pid}/environ"));
        let read = file.and_then(|file| file.take(ENVIRONMENT_MAX).read_to_end(&mut bytes));
        if !matches!(read, Ok(1..)) {
            return Self::Unknown;
        }
        let start = format!("{MARK}=");
        let mut marks = bytes.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(start.as_bytes()));
        let owner = marks.next().and_then(|mark| Owner::parse(std::str::from_utf8(mark).ok()?));
        owner.map_or(Self::None, Self::Owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: i32, parent: i32, group: i32, session: i32) -> Row {
        Row { pid, parent, group, session, zombie: false, started: 5 }
    }

    #[test]
    fn all_that_belong_to_a_child_are_found() {
        let rows = [
            row(9_000_010, 1, 9_000_010, 9_000_010),
            row(9_000_011, 9_000_010, 9_000_010, 9_000_010),
            row(9_000_012, 9_000_011, 9_000_012, 9_000_012), // its own session, below the child
            row(9_000_013, 1, 9_000_014, 9_000_010),         // orphaned, in the child's session
            row(9_000_020, 1, 9_000_020, 9_000_020),
        ];
        let found: Vec<i32> = ours(&rows, &rows[..1], &|_| false).iter().map(|row| row.pid).collect();
        assert_eq!(found, [9_000_010, 9_000_011, 9_000_012, 9_000_013]);
        let older = [Row { started: 4, ..rows[3] }];
        assert!(ours(&older, &rows[..1], &|_| false).is_empty(), "a number that was somebody else's before");
    }

    #[test]
    fn a_mark_says_whose_a_process_is() {
        let owner = Owner { namespace: "4026531836".into(), pid: 7, started: 9 };
        assert_eq!(Owner::parse(&owner.text()), Some(owner));
        for text in ["", "1", "1-2", "1-x-3", "1-2-3-4"] {
            assert_eq!(Owner::parse(text), None, "{text:?}");
        }
    }
}
