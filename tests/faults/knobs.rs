//! What a person may set for a run of these tests.
#![expect(clippy::disallowed_methods, reason = "knobs of a test are read from its environment")]

use std::num::ParseIntError;

/// A number from the environment. One that cannot be read is an error: a run that quietly tried less would lie.
pub fn number(name: &str, default: u64) -> u64 {
    let read = |text: String| -> Result<u64, ParseIntError> { text.trim().parse() };
    std::env::var(name).map_or(default, |text| read(text).unwrap_or_else(|error| panic!("{name}: {error}")))
}
