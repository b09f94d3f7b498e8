//! A rehearsal: planned failures of agents, and short waits.

use std::collections::BTreeSet;
use std::time::Duration;

/// The longest that a rehearsal waits for a usage limit.
pub(crate) const WAIT: Duration = Duration::from_secs(2);

/// Half a line, as an agent leaves it that dies while it writes.
pub(crate) const MALFORMED: &str = r#"{"type":"assistant","message":{"content":[{"type":"te"#;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// Iterations whose agent is killed after its first line.
    pub crash: BTreeSet<u32>,
    /// Iterations whose agent writes a broken line after its first.
    pub malformed: BTreeSet<u32>,
}

/// The faults that one agent still has to play.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PendingFaults {
    pub crash: bool,
    pub malformed: bool,
}

impl Rehearsal {
    /// Once for an iteration: the attempt after it goes well.
    pub(crate) fn pending_faults(&self, iteration: u32, attempt: u32) -> PendingFaults {
        let first = |of: &BTreeSet<u32>| attempt == 1 && of.contains(&iteration);
        PendingFaults { crash: first(&self.crash), malformed: first(&self.malformed) }
    }
}
