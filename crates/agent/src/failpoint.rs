//! Faults on demand, for the tests that show what a fault does. Compiled into debug builds only.

use crate::Options;

/// `RALPH_FAILPOINT=panic-in-turn` makes the next turn panic.
#[cfg(debug_assertions)]
pub fn hit(options: &Options) {
    let asked = options.env.iter().any(|(name, value)| name == "RALPH_FAILPOINT" && value == "panic-in-turn");
    assert!(!asked, "failpoint panic-in-turn");
}

#[cfg(not(debug_assertions))]
pub fn hit(_: &Options) {}
