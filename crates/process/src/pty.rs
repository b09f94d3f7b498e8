//! A helper on a terminal of its own: for agents that will not work on pipes.
//!
//! The helper is as tightly held as one on pipes: same session, same death signal, same kill-tree; when we
//! are gone, so is its terminal. Its stdin and stdout are the terminal, its stderr is a pipe. The terminal
//! neither echoes nor changes what is written, and what is read here is free of escape sequences.
//!
//! Deliberately absent: a screen. Nothing is drawn, nobody answers a program's questions about the terminal,
//! and the size never changes.

use crate::capture::receiver;
use crate::child::Child;
use crate::confine::Confine;
use crate::piped::Piped;
use crate::spec::{Output, SpawnError, Spec, Stdin};
use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Winsize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;

mod clean;
mod raw;

use clean::Clean;
pub use raw::{RawTerminal, TerminalSize};

/// Wide enough that no agent breaks a line of plain text where it matters, and no wider than terminals are.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

/// The kernel hands over no more of a terminal's output at once.
const READ: usize = 4 * 1024;

/// Our end of a helper's terminal. Dropping it hangs up.
#[derive(Debug)]
pub struct Terminal {
    end: AsyncFd<OwnedFd>,
    clean: Clean,
    chunk: Vec<u8>,
    /// What the helper's side reads as the end of input.
    end_of_input: u8,
}

impl Piped {
    /// Starts it on a terminal, in a sandbox where there is one; what `spec` says of stdin and output is not
    /// looked at. Needs a running tokio.
    pub fn on_terminal(mut spec: Spec, sandbox: Option<&dyn Confine>) -> Result<(Self, Terminal), SpawnError> {
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        let fail = |cause: io::Error| SpawnError::new(program.clone(), cwd.clone(), cause);
        let none = |error: io::Error| fail(io::Error::other(format!("there is no terminal for it: {error}")));
        let (terminal, theirs) = Terminal::open().map_err(none)?;
        spec.stdin = Stdin::Null;
        spec.output = Output::Terminal(theirs);
        let mut child = Child::start(spec, sandbox.map(|sandbox| (sandbox, &[][..])))?;
        let stderr = receiver(child.stderr.take()).map_err(fail)?;
        Ok((Self::listening(child, None, stderr), terminal))
    }
}

impl Terminal {
    /// Both ends: ours, and the helper's.
    fn open() -> io::Result<(Self, OwnedFd)> {
        let (end, theirs) = open_pair(SIZE)?;
        let end_of_input = quiet(&theirs)?;
        Ok((Self { end, clean: Clean::default(), chunk: vec![0; READ], end_of_input }, theirs))
    }

    /// Appends what comes next, cleaned, and tells how many bytes came; none at the end, which is when nobody
    /// holds the other side any more. May be cancelled and called again.
    pub async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            let mut ready = self.end.readable().await?;
            let chunk = &mut self.chunk;
            match ready.try_io(|end| Ok(rustix::io::read(end.get_ref(), &mut chunk[..])?)) {
                Ok(Ok(count)) => {
                    self.clean.append(&self.chunk[..count], into);
                    return Ok(count);
                }
                // Linux has this for the end.
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Ok(0),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(error),
                Err(_not_ready) => {}
            }
        }
    }

    /// Tells a helper that reads its terminal that there is no more. One that does not read is not waited for.
    pub fn end_input(&self) {
        let _ = rustix::io::write(self.end.get_ref(), &[self.end_of_input]);
    }
}

/// A new terminal of this size: our end, and the child's.
fn open_pair(size: Winsize) -> io::Result<(AsyncFd<OwnedFd>, OwnedFd)> {
    let ours = open_ours()?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::termios::tcsetwinsize(&theirs, size)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    // SAFETY: an `OwnedFd` is one open descriptor for as long as it lives, and it lives in the `AsyncFd`.
    #[expect(unsafe_code, reason = "registering any other kind of descriptor would be unsound")]
    let end = unsafe { AsyncFd::register(ours) }.map_err(io::Error::from)?;
    Ok((end, theirs))
}

#[cfg(target_os = "linux")]
fn open_ours() -> io::Result<OwnedFd> {
    Ok(rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

#[cfg(not(target_os = "linux"))]
fn open_ours() -> io::Result<OwnedFd> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    Ok(ours)
}

/// No echo, and a newline stays a newline. Input is still by lines, so that it can have an end: the byte that
/// says so comes back.
fn quiet(terminal: impl AsFd) -> io::Result<u8> {
    let mut modes = rustix::termios::tcgetattr(&terminal)?;
    modes.output_modes.remove(OutputModes::OPOST);
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
    rustix::termios::tcsetattr(&terminal, OptionalActions::Now, &modes)?;
    Ok(modes.special_codes[SpecialCodeIndex::VEOF])
}
