//! Arbitrary values of every message, for the round-trip tests. The macros of `message` implement it for each type,
//! so a new message is tested without a line of its own.

use crate::{Extra, Message, Raw, ResultUsage, Word};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers from a seed (splitmix64): small, and the same everywhere.
pub(crate) struct Source(pub(crate) u64);

impl Source {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    pub(crate) fn text(&mut self) -> String {
        const TEXTS: [&str; 9] =
            ["", "x", "a \"quote\"", "é😀", "\u{2028}", "<b>/", "\\ \n\t\u{1}", "null", "{\"type\":7}"];
        let (first, second) = (self.below(TEXTS.len()), self.below(TEXTS.len()));
        format!("{}{}", TEXTS[first], TEXTS[second])
    }

    pub(crate) fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.next().is_multiple_of(2)),
            2 => json!(self.next()),
            3 => json!(-(self.below(1000) as i64)),
            4 => json!(f64::arbitrary(self)),
            5 => json!(self.text()),
            6 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object((0..self.below(3)).map(|_| (self.text(), self.value(depth - 1))).collect()),
        }
    }
}

pub(crate) trait Arbitrary {
    fn arbitrary(source: &mut Source) -> Self;
}

/// An object that no version knows yet.
pub(crate) fn unknown(tag: &str, source: &mut Source) -> Value {
    let mut map = Extra::arbitrary(source);
    map.insert(tag.to_owned(), json!("zz_future"));
    Value::Object(map)
}

impl Arbitrary for Extra {
    fn arbitrary(source: &mut Source) -> Self {
        (0..source.below(3)).map(|at| (format!("zz_{at}{}", source.text()), source.value(2))).collect()
    }
}

impl Arbitrary for Value {
    fn arbitrary(source: &mut Source) -> Self {
        // `null` in an optional field reads as absent.
        json!([source.value(2), source.text()])
    }
}

impl Arbitrary for Message {
    fn arbitrary(source: &mut Source) -> Self {
        Self(source.value(3))
    }
}

impl Arbitrary for ResultUsage {
    fn arbitrary(source: &mut Source) -> Self {
        Self(source.value(2))
    }
}

impl Arbitrary for Raw {
    fn arbitrary(source: &mut Source) -> Self {
        Self::parse(&source.value(3).to_string()).unwrap_or_default()
    }
}

impl Arbitrary for String {
    fn arbitrary(source: &mut Source) -> Self {
        source.text()
    }
}

impl Arbitrary for Word {
    fn arbitrary(source: &mut Source) -> Self {
        source.text().into()
    }
}

impl Arbitrary for bool {
    fn arbitrary(source: &mut Source) -> Self {
        source.next().is_multiple_of(2)
    }
}

impl Arbitrary for f64 {
    fn arbitrary(source: &mut Source) -> Self {
        const NUMBERS: [f64; 6] = [0.0, 0.1, -2.5, 1e300, 5e-324, 9_007_199_254_740_993.0];
        NUMBERS[source.below(NUMBERS.len())]
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Arbitrary for $number {
            fn arbitrary(source: &mut Source) -> Self {
                match source.below(3) {
                    0 => 0,
                    1 => <$number>::MAX,
                    _ => source.below(1000) as $number,
                }
            }
        }
    )*};
}

numbers!(u64, u32, u16, i32);

impl<T: Arbitrary> Arbitrary for Option<T> {
    fn arbitrary(source: &mut Source) -> Self {
        bool::arbitrary(source).then(|| T::arbitrary(source))
    }
}

impl<T: Arbitrary> Arbitrary for Vec<T> {
    fn arbitrary(source: &mut Source) -> Self {
        (0..source.below(3)).map(|_| T::arbitrary(source)).collect()
    }
}

impl<T: Arbitrary> Arbitrary for BTreeMap<String, T> {
    fn arbitrary(source: &mut Source) -> Self {
        (0..source.below(3)).map(|_| (source.text(), T::arbitrary(source))).collect()
    }
}

impl<T: Arbitrary> Arbitrary for Box<T> {
    fn arbitrary(source: &mut Source) -> Self {
        Self::new(T::arbitrary(source))
    }
}
