//! The first process of a box's process namespace. When it ends, the kernel kills every process of the box, whatever
//! those do.
//!
//! It is a bare copy of this process without its descriptors. It waits for the end of a pipe whose other end only we
//! hold: our death, by whatever way, is its end. Deliberately absent: anything that it does besides.

use crate::sys;
use process::table;
use process::tree;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// A killed namespace is gone in milliseconds. One that takes longer has a process that is stuck in the kernel; what
/// protects the workspace then stays.
const GONE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_micros(500);

/// Holds a namespace of processes alive. Dropping it ends everything in the namespace.
#[derive(Debug)]
pub(crate) struct Init {
    pid: i32,
    /// Closed by our death.
    _pipe: OwnedFd,
}

impl Init {
    /// `pid` was just started by us and runs [`wait_for_end`].
    pub(crate) fn new(pid: i32, pipe: OwnedFd) -> Self {
        tree::keep_apart(pid);
        Self { pid, _pipe: pipe }
    }

    /// Ends every process of the box, and says whether all of them are gone.
    pub(crate) fn end(&self) -> bool {
        let Some(pid) = tree::pid(self.pid) else { return true };
        if !tree::is_apart(self.pid) {
            return true;
        }
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let patience = Instant::now() + GONE;
        // The kernel reports the end of the first process when all others of the namespace are gone.
        while Instant::now() < patience {
            let ended = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
            if !matches!(ended, Ok(None)) {
                tree::forget_apart(self.pid);
                return true;
            }
            std::thread::sleep(LOOK);
        }
        table::row(self.pid).is_none()
    }
}

impl Drop for Init {
    fn drop(&mut self) {
        self.end();
    }
}

/// In the new process: when asked, tells `to` whether a fresh `/proc` can be mounted, then waits for the end of `pipe`.
#[expect(unsafe_code, reason = "runs where nothing may be allocated, and never returns")]
pub(crate) fn wait_for_end(to: RawFd, pipe: RawFd) -> ! {
    // The mounts are those of the process that started this one, which still reads its own `/proc`.
    let proc_mounts = sys::unshare(libc::CLONE_NEWNS).and_then(|()| mount_proc()).is_ok();
    let word = [u8::from(proc_mounts)];
    let mut asked = [0_u8];
    // SAFETY: every call is async-signal-safe and works on integers and live locals; the process never returns to
    // the code that it was copied from.
    unsafe {
        libc::recv(to, asked.as_mut_ptr().cast(), 1, 0);
        libc::send(to, word.as_ptr().cast(), 1, libc::MSG_NOSIGNAL);
        // Children that nobody waits for are collected by the kernel.
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        // Terminals send signals to sessions; this is one without a terminal.
        libc::setsid();
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::prctl(libc::PR_SET_NAME, c"ralph-box".as_ptr());
        libc::chdir(c"/".as_ptr());
        libc::dup2(pipe, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let _ = sys::keep_capabilities(0);
        let mut byte = [0_u8];
        loop {
            let read = libc::read(0, byte.as_mut_ptr().cast(), 1);
            if read == 0 || (read < 0 && *libc::__errno_location() != libc::EINTR) {
                libc::_exit(0);
            }
        }
    }
}

/// In a process of the namespace: `/proc` shows the processes of the namespace and no others.
pub(crate) fn mount_proc() -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    sys::mount(c"proc", c"/proc", c"proc", flags, c"")
}

/// A copy of this process with the same parent, in the namespaces that were joined for children. 0 in the copy.
#[expect(unsafe_code, reason = "no safe interface starts a sibling")]
pub(crate) fn sibling() -> io::Result<libc::pid_t> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without a stack and without shared memory this is a fork; the caller has one thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid as libc::pid_t) }
}
