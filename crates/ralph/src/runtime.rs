//! The runtime of commands that wait.

use crate::failure::Failure;

/// The runtime of everything that waits: one thread, so that a process costs little.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("the runtime cannot be started: {error}")))
}
