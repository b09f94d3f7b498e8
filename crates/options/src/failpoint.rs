//! Faults on demand, for the tests that show what a fault does. Compiled into debug builds only.

use crate::Options;

/// `RALPH_FAILPOINT=<name>` makes the place of this name panic.
#[cfg(debug_assertions)]
pub fn hit(options: &Options, place: &str) {
    let asked = options.env.iter().any(|(name, value)| name == "RALPH_FAILPOINT" && value == place);
    assert!(!asked, "failpoint {place}");
}

#[cfg(not(debug_assertions))]
pub fn hit(_: &Options, _: &str) {}
