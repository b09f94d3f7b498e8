//! The runtime of commands that wait.

use crate::say;
use wire::ExitCode;

/// The runtime of everything that waits: one thread, so that a process costs little.
pub fn runtime() -> Result<tokio::runtime::Runtime, ExitCode> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        say::err(&format!("error: the runtime cannot be started: {error}"));
        ExitCode::Failure
    })
}
