//! Between fork and exec: the child shuts itself in, step by step, and cannot get out again.
//!
//! Everything is prepared before the fork; here nothing is allocated and no lock taken. A step that
//! fails is told to the parent in the upper half of the error number, and then nothing is executed.

use crate::init;
use crate::landlock;
use crate::mounts::Mounts;
use crate::relay;
use crate::sys;
use process::EntrySteps;
use std::ffi::CString;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

/// What the child does on its way.
pub(crate) enum Steps {
    Shut(Box<Shut>),
    /// Somebody else shuts it in, and needs this descriptor for it.
    Handed(RawFd),
}

pub(crate) struct Shut {
    pub(crate) users: Option<RawFd>,
    pub(crate) network: Option<RawFd>,
    pub(crate) processes: Option<Processes>,
    /// Only with namespaces.
    pub(crate) mounts: Option<Mounts>,
    /// Looked up again once the mounts are made: the old one would lead around them.
    pub(crate) cwd: CString,
    pub(crate) ruleset: RawFd,
    pub(crate) filter: Vec<libc::sock_filter>,
    /// Where the filter's listener is sent, if it reports calls.
    pub(crate) relay: Option<RawFd>,
    /// What root may still do with files of others.
    pub(crate) capabilities: u32,
}

/// The namespaces of processes and IPC. A process joins the first one only by being born there, so the process that
/// was started starts a sibling there, says its number on `told`, and ends.
pub(crate) struct Processes {
    pub(crate) namespace: RawFd,
    pub(crate) ipc: RawFd,
    pub(crate) told: RawFd,
    /// A `/proc` of the namespace is mounted, and granted by the ruleset.
    pub(crate) own_proc: bool,
}

const STEPS: [&str; 11] = [
    "joining the user namespace",
    "joining the network namespace",
    "joining the IPC namespace",
    "joining the process namespace",
    "making a mount namespace",
    "mounting",
    "going to the working folder",
    "giving up privileges",
    "forbidding core dumps",
    "applying Landlock",
    "applying seccomp",
];

const STEP_SHIFT: i32 = 16;

impl Steps {
    /// First of all.
    pub(crate) fn run(&self) -> io::Result<()> {
        match self {
            Self::Shut(shut) => shut.run(),
            Self::Handed(_) => sys::no_core_dumps(),
        }
    }

    /// Whether the process that was started only starts another, in a namespace of processes.
    pub(crate) fn is_namespaced(&self) -> bool {
        matches!(self, Self::Shut(shut) if shut.processes.is_some())
    }

    /// When every descriptor has been marked to be closed.
    pub(crate) fn keep_open(&self) -> io::Result<()> {
        match self {
            Self::Shut(_) => Ok(()),
            Self::Handed(fd) => sys::keep_open(*fd),
        }
    }
}

impl Shut {
    fn run(&self) -> io::Result<()> {
        let mut step = 0;
        let mut then = |result: io::Result<()>| {
            step += 1;
            result.map_err(|error| told(step, &error))
        };
        then(self.users.map_or(Ok(()), |users| sys::join(users, libc::CLONE_NEWUSER)))?;
        then(self.network.map_or(Ok(()), |network| sys::join(network, libc::CLONE_NEWNET)))?;
        let processes = self.processes.as_ref();
        then(processes.map_or(Ok(()), |processes| sys::join(processes.ipc, libc::CLONE_NEWIPC)))?;
        then(processes.map_or(Ok(()), Processes::join))?;
        then(if self.mounts.is_some() { sys::unshare(libc::CLONE_NEWNS) } else { Ok(()) })?;
        then(self.mounts.as_ref().map_or(Ok(()), Mounts::make).and_then(|()| self.mount_proc()))?;
        then(sys::change_folder(&self.cwd))?;
        then(sys::keep_capabilities(self.capabilities).and_then(|()| sys::no_new_privileges()))?;
        then(sys::no_core_dumps())?;
        then(sys::landlock_restrict(self.ruleset))?;
        then(match self.relay {
            Some(hands) => relay::install(&self.filter, hands),
            None => sys::install_filter(&self.filter),
        })
    }

    fn mount_proc(&self) -> io::Result<()> {
        if !self.processes.as_ref().is_some_and(|processes| processes.own_proc) {
            return Ok(());
        }
        init::mount_proc()?;
        landlock::allow_proc(self.ruleset)
    }
}

impl Processes {
    fn join(&self) -> io::Result<()> {
        sys::join(self.namespace, libc::CLONE_NEWPID)?;
        match init::sibling()? {
            0 => Ok(()),
            inside => sys::tell_and_end(self.told, inside),
        }
    }
}

/// The steps with the files that they name by number.
pub(crate) struct StepsWithFiles {
    steps: Steps,
    _files: [Option<OwnedFd>; 2],
}

impl StepsWithFiles {
    pub(crate) fn new(steps: Steps, files: [Option<OwnedFd>; 2]) -> Self {
        Self { steps, _files: files }
    }
}

// SAFETY: every step is a system call on integers and on memory that was prepared before the fork.
#[expect(unsafe_code, reason = "only the trait's promise makes a step possible between fork and exec")]
unsafe impl EntrySteps for StepsWithFiles {
    fn enter(&self) -> io::Result<()> {
        self.steps.run()
    }

    fn is_namespaced(&self) -> bool {
        self.steps.is_namespaced()
    }

    fn keep_open(&self) -> io::Result<()> {
        self.steps.keep_open()
    }
}

fn told(step: i32, error: &io::Error) -> io::Error {
    let errno = error.raw_os_error().unwrap_or(libc::EIO);
    io::Error::from_raw_os_error(step << STEP_SHIFT | errno)
}

/// The words for an error that [`Steps::run`] told; any other error as it is.
pub(crate) fn explain(error: io::Error) -> io::Error {
    let code = error.raw_os_error().unwrap_or(0);
    let name = usize::try_from(code >> STEP_SHIFT).ok().and_then(|step| STEPS.get(step.checked_sub(1)?));
    match name {
        Some(name) => {
            let cause = io::Error::from_raw_os_error(code & ((1 << STEP_SHIFT) - 1));
            io::Error::other(format!("the sandbox failed at {name}: {cause}"))
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_that_failed_is_named() {
        let error = told(6, &io::Error::from_raw_os_error(libc::EPERM));
        assert!(explain(error).to_string().starts_with("the sandbox failed at mounting: Operation not permitted"));
        let plain = io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(explain(plain).raw_os_error(), Some(libc::ENOENT));
    }
}
