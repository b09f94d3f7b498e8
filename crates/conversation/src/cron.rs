//! Times of the kind `*/5 9-17 * * 1-5`: minute, hour, day of the month, month, day of the week. Pure.
//!
//! Deliberately absent: names of months and days, seconds, and anything beyond `*`, lists, ranges and steps.

use jiff::ToSpan as _;
use jiff::civil::DateTime;

/// Fields that a time has.
const FIELDS: [(&str, u8, u8); 5] =
    [("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 7)];

/// 29 February comes every four years, sometimes after eight.
const STEPS_MAX: usize = 40_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cron {
    /// One bit for each value.
    fields: [u64; 5],
    /// A day that fits either of two restrictions fits.
    both_days: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    #[error("a time has five fields (minute hour day month weekday), this one has {0}")]
    Fields(usize),
    #[error("the {field} '{text}' is not one of {low} to {high}, a range, a list or a step")]
    Value { field: &'static str, text: String, low: u8, high: u8 },
}

impl Cron {
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != FIELDS.len() {
            return Err(CronError::Fields(words.len()));
        }
        let mut fields = [0; 5];
        for (at, (word, (field, low, high))) in words.iter().zip(FIELDS).enumerate() {
            let wrong = || CronError::Value { field, text: (*word).to_owned(), low, high };
            for part in word.split(',') {
                fields[at] |= bits(part, low, high).ok_or_else(wrong)?;
            }
        }
        // Sunday has two numbers.
        fields[4] |= u64::from(fields[4] & (1 << 7) != 0);
        Ok(Self { fields, both_days: !words[2].starts_with('*') && !words[4].starts_with('*') })
    }

    /// The first minute after this moment that fits.
    pub fn next_after(&self, moment: DateTime) -> Option<DateTime> {
        let mut at = moment.with().second(0).subsec_nanosecond(0).build().ok()?.checked_add(1.minute()).ok()?;
        for _ in 0..STEPS_MAX {
            if !self.has(3, at.month()) {
                at = at.first_of_month().with().hour(0).minute(0).build().ok()?.checked_add(1.month()).ok()?;
            } else if !self.has_day(at) {
                at = at.with().hour(0).minute(0).build().ok()?.checked_add(1.day()).ok()?;
            } else if !self.has(1, at.hour()) {
                at = at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?;
            } else if !self.has(0, at.minute()) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(at);
            }
        }
        None
    }

    fn has(&self, field: usize, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|bit| self.fields[field] & (1 << bit) != 0)
    }

    fn has_day(&self, at: DateTime) -> bool {
        let of_month = self.has(2, at.day());
        let of_week = self.has(4, at.weekday().to_sunday_zero_offset());
        if self.both_days { of_month || of_week } else { of_month && of_week }
    }
}

/// `*`, `7`, `1-5`, each with `/step`.
fn bits(part: &str, low: u8, high: u8) -> Option<u64> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, step.parse::<u8>().ok().filter(|step| *step > 0)?),
        None => (part, 1),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => (low, high),
        Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
        None => {
            let only: u8 = range.parse().ok()?;
            (only, if part.contains('/') { high } else { only })
        }
    };
    let fits = low <= first && first <= last && last <= high;
    fits.then(|| (first..=last).step_by(step.into()).fold(0, |bits, value| bits | 1 << value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn the_next_time_by_the_table() {
        let now = date(2026, 11, 16).at(10, 2, 30, 5); // a Monday
        for (text, expected) in [
            ("* * * * *", date(2026, 11, 16).at(10, 3, 0, 0)),
            ("*/5 * * * *", date(2026, 11, 16).at(10, 5, 0, 0)),
            ("0 9 * * *", date(2026, 11, 17).at(9, 0, 0, 0)),
            ("30 14 * * 1-5", date(2026, 11, 16).at(14, 30, 0, 0)),
            ("0 0 1 1 *", date(2027, 1, 1).at(0, 0, 0, 0)),
            ("0 8 * * 0", date(2026, 11, 22).at(8, 0, 0, 0)),
            ("0 8 * * 7", date(2026, 11, 22).at(8, 0, 0, 0)),
            ("0 8 20 * 3", date(2026, 11, 18).at(8, 0, 0, 0)),
            ("5,10 10 * * *", date(2026, 11, 16).at(10, 5, 0, 0)),
            ("0 0 29 2 *", date(2028, 2, 29).at(0, 0, 0, 0)),
        ] {
            let cron = Cron::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(cron.next_after(now), Some(expected), "{text}");
        }
        assert_eq!(Cron::parse("0 0 31 2 *").ok().and_then(|cron| cron.next_after(now)), None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "x * * * *", "5-1 * * * *", "*/0 * * * *"]
        {
            assert!(Cron::parse(text).is_err(), "{text}");
        }
    }
}
