//! From a [`Spec`] to a running process: everything between fork and exec.

use crate::confine::{Confine, Entry, EntrySteps};
use crate::spec::{Output, Spec, Stdin};
use crate::watcher;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// Which box a process is started in, and the files outside of it that it may write.
pub(crate) type Inside<'a> = Option<(&'a dyn Confine, &'a [PathBuf])>;

/// A process that runs, with our ends of its pipes.
pub(crate) struct Launched {
    pub(crate) pid: i32,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// The entry of a child that no sandbox confines.
const UNCONFINED: Entry = Entry { steps: None, pid_pipe: None, explain: |error| error };

/// Starts the process. The caller must own its reaping.
pub(crate) fn launch(mut spec: Spec, inside: Inside<'_>, is_watched: bool) -> io::Result<Launched> {
    let entry = inside.map(|(sandbox, also)| sandbox.prepare(&mut spec, also)).transpose()?;
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear().envs(spec.env).envs(watcher::mark());
    if let Some(arg0) = &spec.arg0 {
        command.arg0(arg0);
    }
    let feed = connect_stdin(&mut command, spec.stdin)?;
    let place = match spec.output {
        Output::Merged(file) => {
            command.stderr(file.try_clone()?).stdout(file);
            Place::NoTerminal
        }
        Output::Pipes => {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            Place::NoTerminal
        }
        Output::Terminal(end) => {
            command.stdin(end.try_clone()?).stdout(end).stderr(Stdio::piped());
            Place::OwnTerminal
        }
        Output::RawTerminal(end) => {
            command.stdin(end.try_clone()?).stdout(end.try_clone()?).stderr(end);
            Place::OwnTerminal
        }
    };
    let Entry { steps, pid_pipe, explain } = entry.unwrap_or(UNCONFINED);
    isolate(&mut command, place, steps, is_watched);
    let mut child = command.spawn().map_err(explain)?;
    // Waiting for a std child closes its input.
    let mut stdin = child.stdin.take();
    let pid = match pid_pipe {
        Some(pipe) => pid_inside(&mut child, pipe)?,
        None => child.id() as i32,
    };
    if let Some(bytes) = feed
        && let Some(mut pipe) = stdin.take()
    {
        std::thread::spawn(move || {
            // A child that does not read its input is no error.
            let _ = io::Write::write_all(&mut pipe, &bytes);
        });
    }
    Ok(Launched { pid, stdin, stdout: child.stdout.take(), stderr: child.stderr.take() })
}

/// Starts a process that outlives us: without our mark, and without a death signal.
pub(crate) fn launch_detached(spec: Spec) -> io::Result<std::process::Child> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear().envs(spec.env).stdin(Stdio::null());
    if let Some(arg0) = &spec.arg0 {
        command.arg0(arg0);
    }
    match spec.output {
        Output::Merged(file) => command.stdout(Stdio::null()).stderr(file),
        Output::Pipes | Output::Terminal(_) | Output::RawTerminal(_) => {
            command.stdout(Stdio::null()).stderr(Stdio::null())
        }
    };
    // SAFETY: as in `isolate`: only async-signal-safe functions on integers.
    #[expect(unsafe_code, reason = "a session of its own can only be had between fork and exec")]
    unsafe {
        command.pre_exec(|| prepare(None, Place::NoTerminal));
    }
    command.spawn()
}

/// The process that was started has started the command as its sibling, and has ended.
fn pid_inside(started: &mut std::process::Child, pipe: OwnedFd) -> io::Result<i32> {
    let mut bytes = [0; 4];
    let read = io::Read::read_exact(&mut File::from(pipe), &mut bytes);
    started.wait()?;
    read.map(|()| i32::from_ne_bytes(bytes))
}

/// Whether a child's session has a terminal: the one on its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    NoTerminal,
    OwnTerminal,
}

/// What is left to be written once the child runs.
fn connect_stdin(command: &mut Command, stdin: Stdin) -> io::Result<Option<Vec<u8>>> {
    match stdin {
        Stdin::Null => {
            command.stdin(Stdio::null());
            Ok(None)
        }
        Stdin::Bytes(bytes) => Ok(feed_later(command, &bytes)?.then_some(bytes)),
        Stdin::Pipe => {
            command.stdin(Stdio::piped());
            Ok(None)
        }
    }
}

/// Input as a file in memory: nobody has to write while the child runs, and a child that never reads
/// blocks nobody. Where there is no such file, says that a pipe has to be fed.
#[cfg(target_os = "linux")]
pub(crate) fn feed_later(command: &mut Command, bytes: &[u8]) -> io::Result<bool> {
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::io::{Seek as _, Write as _};
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    command.stdin(file);
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn feed_later(command: &mut Command, _bytes: &[u8]) -> io::Result<bool> {
    command.stdin(Stdio::piped());
    Ok(true)
}

fn isolate(command: &mut Command, place: Place, steps: Option<Box<dyn EntrySteps>>, is_watched: bool) {
    // A watcher finds what a child has started by way of the child, which must not be gone by then.
    let parent = if is_watched { None } else { parent_to_die_with() };
    // In a namespace of processes whoever is outside has the number 0.
    let is_namespaced = steps.as_ref().is_some_and(|steps| steps.is_namespaced());
    let adopts = is_watched && !is_namespaced;
    let die_with = parent.map(|parent| if is_namespaced { 0 } else { parent });
    // SAFETY: the closure runs between fork and exec and calls only async-signal-safe functions on
    // integers and memory that was prepared before; it neither allocates nor takes locks. `EntrySteps` promises the same.
    #[expect(unsafe_code, reason = "a session, a death signal and a sandbox can only be had between fork and exec")]
    unsafe {
        command.pre_exec(move || {
            steps.as_ref().map_or(Ok(()), |steps| steps.enter())?;
            // Afterwards: a change of credentials would clear the death signal.
            prepare(die_with, place)?;
            if adopts {
                adopt();
            }
            steps.as_ref().map_or(Ok(()), |steps| steps.keep_open())
        });
    }
}

/// Signals that a parent, or we, may have left ignored (`nohup`, `&` in a script); ignored ones survive exec.
const RESET: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGALRM,
    libc::SIGXFSZ,
];

/// In the child: what loses its parents below this process becomes its child, and is found there by the watcher as long
/// as this process lives. Kept by exec, not by fork.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the calls that prepare a child have no safe interface")]
fn adopt() {
    // SAFETY: integers only. Where the kernel refuses, orphans become our own children at once.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

#[cfg(not(target_os = "linux"))]
fn adopt() {}

#[expect(unsafe_code, reason = "the calls that prepare a child have no safe interface")]
fn prepare(die_with: Option<libc::pid_t>, place: Place) -> io::Result<()> {
    // SAFETY: setsid takes no arguments and is async-signal-safe.
    if unsafe { libc::setsid() } < 0 {
        return Err(io::Error::last_os_error());
    }
    if place == Place::OwnTerminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    for signal in RESET {
        // SAFETY: SIG_DFL is a valid disposition for each of these signals.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: marks descriptors, closes none; std's own are already marked. An old kernel
        // refuses, and then Rust's CLOEXEC default still holds for all files we opened.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        if let Some(parent) = die_with {
            // SAFETY: PR_SET_PDEATHSIG takes one integer.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            // SAFETY: getppid takes no arguments. The parent may have died before the line above.
            if unsafe { libc::getppid() } != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = die_with;
    Ok(())
}

/// The kernel sends the death signal when the *thread* that forked ends, so a child started from a
/// worker thread would be killed with that thread. Only the main thread lives as long as we do.
#[cfg(target_os = "linux")]
fn parent_to_die_with() -> Option<libc::pid_t> {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: gettid takes no arguments and cannot fail.
    #[expect(unsafe_code, reason = "no safe interface is compiled in")]
    let thread = unsafe { libc::gettid() };
    (thread == process).then_some(process)
}

#[cfg(not(target_os = "linux"))]
fn parent_to_die_with() -> Option<libc::pid_t> {
    None
}
