//! A rehearsal: agents that fail on cue, and waits that do not last.

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

/// What is still to go wrong with one agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cues {
    pub crash: bool,
    pub malformed: bool,
}

impl Rehearsal {
    /// Once for an iteration: the attempt after it goes well.
    pub(crate) fn cues(&self, iteration: u32, attempt: u32) -> Cues {
        let first = |of: &BTreeSet<u32>| attempt == 1 && of.contains(&iteration);
        Cues { crash: first(&self.crash), malformed: first(&self.malformed) }
    }
}
