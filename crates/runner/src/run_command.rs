//! Commands to a run: from the keyboard, from a signal, or through the run's socket.

/// A command to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Finish the iteration, then end; a second one ends it now.
    Stop,
    StopNow,
    Terminate,
    Pause,
    Resume,
    Steer(String),
    Answer(String),
}
