//! A process on a terminal as a person uses one: echo, line editing and colours are the kernel's and the program's own,
//! and bytes pass unchanged in both directions.
//!
//! Deliberately absent: reading what is drawn. Whoever shows these bytes has a terminal emulator.

use super::{AsyncFd, OwnedFd, Winsize, io, open_pair};
use crate::child::Child;
use crate::confine::Confine;
use crate::spec::{Output, SpawnError, Spec, Stdin};

/// Rows and columns of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub cols: u16,
    pub rows: u16,
}

impl From<TerminalSize> for Winsize {
    fn from(size: TerminalSize) -> Self {
        Self { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// Our end of such a terminal. Dropping it hangs up.
#[derive(Debug)]
pub struct RawTerminal {
    end: AsyncFd<OwnedFd>,
}

impl Child {
    /// Starts a process on a terminal of its own, in a sandbox where there is one; what `spec` says of stdin and output
    /// is not looked at. Needs a running tokio.
    pub fn on_raw_terminal(
        mut spec: Spec,
        sandbox: Option<&dyn Confine>,
        size: TerminalSize,
    ) -> Result<(Self, RawTerminal), SpawnError> {
        let (end, theirs) = open_pair(size.into()).map_err(|error| {
            let cause = io::Error::other(format!("there is no terminal for it: {error}"));
            SpawnError::new(spec.program.clone(), spec.cwd.clone(), cause)
        })?;
        spec.stdin = Stdin::Null;
        spec.output = Output::RawTerminal(theirs);
        let child = Self::start(spec, sandbox.map(|sandbox| (sandbox, &[][..])))?;
        Ok((child, RawTerminal { end }))
    }
}

impl RawTerminal {
    /// Reads what comes next; zero bytes at the end, which is when nobody holds the other side any more. May be
    /// cancelled and called again.
    pub async fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.end.readable().await?;
            match ready.try_io(|end| Ok(rustix::io::read(end.get_ref(), &mut *into)?)) {
                // Linux has this for the end.
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Ok(0),
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(done) => return done,
                Err(_not_ready) => {}
            }
        }
    }

    /// Writes all of it, as far as the program reads its input.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut ready = self.end.writable().await?;
            match ready.try_io(|end| Ok(rustix::io::write(end.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => bytes = bytes.get(written?..).unwrap_or_default(),
                Err(_not_ready) => {}
            }
        }
        Ok(())
    }

    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(rustix::termios::tcsetwinsize(self.end.get_ref(), size.into())?)
    }
}
