//! Ids for events and entries, from a seed that the runtime draws once. Ids must be unique, not secret.

use uuid::{Builder, Uuid};

#[derive(Debug, Clone)]
pub struct Ids(u64, u64);

impl Ids {
    /// A seed of two zeros would only make zeros.
    pub fn seeded(high: u64, low: u64) -> Self {
        Self(high, if high == 0 && low == 0 { 1 } else { low })
    }

    pub fn next_id(&mut self) -> String {
        let bytes = ((u128::from(self.word()) << 64) | u128::from(self.word())).to_be_bytes();
        let id = Builder::from_random_bytes(bytes).into_uuid();
        id.hyphenated().encode_lower(&mut Uuid::encode_buffer()).to_owned()
    }

    /// xoroshiro128+ : a few nanoseconds, period 2^128.
    fn word(&mut self) -> u64 {
        let (a, b) = (self.0, self.1);
        let mixed = a ^ b;
        self.0 = a.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.1 = mixed.rotate_left(37);
        a.wrapping_add(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_valid_and_differ() {
        let mut ids = Ids::seeded(0, 0);
        let made: HashSet<String> = (0..10_000).map(|_| ids.next_id()).collect();
        assert_eq!(made.len(), 10_000);
        assert!(made.iter().all(|id| Uuid::parse_str(id).is_ok_and(|id| id.get_version_num() == 4)));
    }
}
