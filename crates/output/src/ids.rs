//! Ids for events and entries.
//!
//! A partial message can be a hundred thousand events, so the kernel is asked for randomness once and
//! a small generator does the rest. Ids must be unique, not secret.

use std::cell::Cell;
use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

pub const ID_LENGTH: usize = Hyphenated::LENGTH;

pub struct Ids(Cell<u64>, Cell<u64>);

impl Ids {
    pub fn seeded() -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        Self(Cell::new(high), Cell::new(low))
    }

    pub fn next(&self) -> String {
        self.write(&mut [0; ID_LENGTH]).to_owned()
    }

    /// The next one in a place of the caller's.
    pub fn write<'a>(&self, place: &'a mut [u8; ID_LENGTH]) -> &'a str {
        let bytes = ((u128::from(self.word()) << 64) | u128::from(self.word())).to_be_bytes();
        Builder::from_random_bytes(bytes).into_uuid().hyphenated().encode_lower(place)
    }

    /// A short id for a task or an agent.
    pub fn short(&self, prefix: char) -> String {
        format!("{prefix}{:016x}", self.word())
    }

    /// xoroshiro128+ : a few nanoseconds, period 2^128.
    fn word(&self) -> u64 {
        let (a, b) = (self.0.get(), self.1.get());
        let sum = a.wrapping_add(b);
        let mixed = a ^ b;
        self.0.set(a.rotate_left(24) ^ mixed ^ (mixed << 16));
        self.1.set(mixed.rotate_left(37));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_valid_and_differ() {
        let ids = Ids::seeded();
        let made: HashSet<String> = (0..10_000).map(|_| ids.next()).collect();
        assert_eq!(made.len(), 10_000);
        assert!(made.iter().all(|id| Uuid::parse_str(id).is_ok_and(|id| id.get_version_num() == 4)));
    }
}
