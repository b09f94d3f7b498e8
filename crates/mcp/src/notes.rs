//! What a transport noticed and the protocol cannot carry: why a connection broke, and what a server
//! said that was no message. Read when a failure is explained.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tools::bounded::cut;

/// Of each note; they end in one error message.
const NOTE_MAX: usize = 500;

/// Shared between a transport, which rmcp owns, and whoever explains its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    trouble: Option<String>,
    noise: Option<String>,
}

impl Notes {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the connection broke. The first reason stays: later ones follow from it.
    pub(crate) fn trouble(&self, reason: impl Into<String>) {
        self.kept().trouble.get_or_insert_with(|| cut(&reason.into(), NOTE_MAX));
    }

    /// Something on the wire that was no message.
    pub(crate) fn noise(&self, bytes: &[u8]) {
        let said = cut(String::from_utf8_lossy(&bytes[..bytes.len().min(NOTE_MAX)]).trim(), NOTE_MAX);
        if !said.is_empty() {
            self.kept().noise = Some(said);
        }
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.kept().trouble.clone()
    }

    pub(crate) fn last_noise(&self) -> Option<String> {
        self.kept().noise.clone()
    }
}
