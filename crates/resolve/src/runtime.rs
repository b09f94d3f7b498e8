//! The runtime of commands that wait.

/// Why there is no runtime.
#[derive(Debug, thiserror::Error)]
#[error("the runtime cannot be started: {0}")]
pub struct RuntimeError(#[from] std::io::Error);

/// The runtime of everything that waits: one thread, so that a process costs little.
pub fn runtime() -> Result<tokio::runtime::Runtime, RuntimeError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
