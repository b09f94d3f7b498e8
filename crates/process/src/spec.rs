//! The description of a process to start, and of its end.

use rustix::process::WaitStatus;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The child's whole environment; nothing is inherited.
pub type Env = Vec<(OsString, OsString)>;

#[derive(Debug)]
pub struct Spec {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    pub env: Env,
    pub stdin: Stdin,
    pub output: Output,
    /// The name the program sees itself called by, when it is not `program`.
    pub arg0: Option<OsString>,
}

#[derive(Debug)]
pub enum Stdin {
    Null,
    Bytes(Vec<u8>),
    /// Written through the [`crate::Piped`].
    Pipe,
}

#[derive(Debug)]
pub enum Output {
    /// stdout and stderr into one file opened for appending: no pipe that a grandchild could hold
    /// open, and no memory used however much is written.
    Merged(File),
    /// Read by [`crate::capture`] and [`crate::Piped`].
    Pipes,
    /// stdin and stdout are this terminal, and it is the child's controlling one; stderr is a pipe, so that
    /// complaints do not come between the lines. Made by [`crate::Piped::on_terminal`].
    Terminal(OwnedFd),
    /// stdin, stdout and stderr are this terminal, as a person's shell has it. Made by [`crate::Child::on_raw_terminal`].
    RawTerminal(OwnedFd),
}

/// Exactly one of the two is set, unless the kernel lost the child's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub(crate) fn of(status: WaitStatus) -> Self {
        Self { code: status.exit_status(), signal: status.terminating_signal() }
    }

    pub fn success(self) -> bool {
        self.code == Some(0)
    }

    /// The number a shell would show: the code, or 128 and the signal.
    pub fn shell_code(self) -> i32 {
        match (self.code, self.signal) {
            (Some(code), _) => code,
            (None, Some(signal)) => 128 + signal,
            (None, None) => 1,
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot start {} in {}: {cause} ({hint})", .program.to_string_lossy(), .cwd.display())]
pub struct SpawnError {
    pub program: OsString,
    pub cwd: PathBuf,
    pub hint: &'static str,
    #[source]
    pub cause: io::Error,
}

impl SpawnError {
    pub(crate) fn new(program: OsString, cwd: PathBuf, cause: io::Error) -> Self {
        let hint = hint(&cause, &cwd);
        Self { program, cwd, hint, cause }
    }
}

fn hint(cause: &io::Error, cwd: &Path) -> &'static str {
    match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !cwd.is_dir() => {
            "the working folder does not exist; choose another one"
        }
        io::ErrorKind::NotFound => "no such program; install it or give its full path",
        io::ErrorKind::PermissionDenied => {
            "not permitted; is the program executable and the working folder accessible?"
        }
        io::ErrorKind::ArgumentListTooLong => "arguments and environment are too long; pass the data in a file",
        io::ErrorKind::InvalidInput => "an argument or variable contains a NUL byte",
        _ => "the system refused; check process, memory and open-file limits",
    }
}
