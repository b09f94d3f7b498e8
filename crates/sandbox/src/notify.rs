//! The kernel's interface for system calls that a process outside answers (seccomp user notification), one thin wrapper
//! each.
//!
//! Deliberately absent: any decision, and reading what a call's pointers point to.

use crate::sys;
use process::tree;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::sync::OnceLock;

/// A system call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    id: u64,
    /// Of the thread that makes the call, as we see it.
    pub(crate) thread: u32,
    pub(crate) number: libc::c_long,
    pub(crate) arguments: [u64; 6],
}

/// What a call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Zero,
    Error(i32),
    /// The kernel carries it out as if there were no filter. What was looked at may have changed by then.
    Continue,
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next call that waits. Only after a poll has said that there is one.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn receive(listener: BorrowedFd<'_>) -> io::Result<Call> {
    // SAFETY: an all-zero value is valid, and what the kernel wants to be given.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call, and its size is the kernel's (`is_possible`).
    check(unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) })?;
    Ok(Call { id: asked.id, thread: asked.pid, number: libc::c_long::from(asked.data.nr), arguments: asked.data.args })
}

/// Whether the caller still waits: then what was read of it by its number was really its own.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn is_waiting(listener: BorrowedFd<'_>, call: &Call) -> bool {
    // SAFETY: the number outlives the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id) == 0 }
}

/// Fails where the caller does not wait any more: it was killed, or a signal interrupted it.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn answer(listener: BorrowedFd<'_>, call: &Call, answer: Answer) -> io::Result<()> {
    let (error, flags) = match answer {
        Answer::Zero => (0, 0),
        Answer::Error(errno) => (-errno, 0),
        Answer::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
    };
    let response = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags };
    // SAFETY: the structure outlives the call.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) })
}

/// Puts a file into the caller, and answers the call with its number there.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn answer_with_file(
    listener: BorrowedFd<'_>,
    call: &Call,
    file: BorrowedFd<'_>,
    closed_by_exec: bool,
) -> io::Result<()> {
    let put = libc::seccomp_notif_addfd {
        id: call.id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: file.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if closed_by_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the structure outlives the call.
    check(unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const put) })
}

/// In the child: applies the filter; the listener for the calls that it reports.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn install(program: &[libc::sock_filter]) -> io::Result<RawFd> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: the kernel copies the program; pointer and length belong together.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd as RawFd) }
}

/// The first kernel that puts a file into a caller and answers it in one step.
const KERNEL: (u32, u32) = (5, 14);

/// Whether this kernel can do all of it, and whoever holds us lets us: a filter around us that reports calls itself
/// makes another one impossible.
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(|| {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        version(&release).is_some_and(|version| version >= KERNEL) && sizes_are_known() && trial()
    })
}

/// The first two numbers of a kernel's version.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[expect(unsafe_code, reason = "no safe interface")]
fn sizes_are_known() -> bool {
    // SAFETY: an all-zero value is valid.
    let mut sizes: libc::seccomp_notif_sizes = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call, which writes exactly it.
    let asked = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0_u32, &raw mut sizes) };
    asked == 0
        && usize::from(sizes.seccomp_notif) == size_of::<libc::seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) == size_of::<libc::seccomp_notif_resp>()
}

/// A copy of this process applies a filter that allows everything, with a listener, and ends.
#[expect(unsafe_code, reason = "the trial is the call itself, in a process that never returns")]
fn trial() -> bool {
    let allow =
        [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
    // Nobody else may collect it.
    let _owned = tree::owned();
    // SAFETY: the child makes system calls on prepared memory only, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = sys::no_new_privileges().and_then(|()| install(&allow));
        // SAFETY: ends this copy without running anything of the original's.
        unsafe { libc::_exit(i32::from(done.is_err())) }
    }
    let mut status = -1;
    // SAFETY: the pointer is to a live local; the child ends by itself.
    while child > 0 && unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
    child > 0 && status == 0
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn kernels_are_compared_by_numbers() {
        for (text, numbers) in
            [("6.18.44-fc", Some((6, 18))), ("5.4.0", Some((5, 4))), ("5.14", Some((5, 14))), ("x", None)]
        {
            assert_eq!(version(text), numbers, "{text}");
        }
        assert!(version("5.4.0") < Some(super::KERNEL) && version("10.0") > Some(super::KERNEL));
    }
}
