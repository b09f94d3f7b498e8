//! Spans of time as people write them: `4h`, `1h30m`, `90s`, `45` (seconds).

use std::time::Duration;

/// Ten years: more is a typing error, and sums with it stay far from overflowing.
const MOST: Duration = Duration::from_hours(10 * 365 * 24);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no span of time; write it like 4h, 1h30m, 90s or 500ms")]
pub struct SpanError(String);

pub fn span(text: &str) -> Result<Duration, SpanError> {
    let wrong = || SpanError(text.to_owned());
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok().filter(|span| *span <= MOST).ok_or_else(wrong);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let count: u32 = rest[..digits].parse().map_err(|_| wrong())?;
        let after = &rest[digits..];
        let (unit, length) = match after {
            _ if after.starts_with("ms") => (Duration::from_millis(1), 2),
            _ if after.starts_with('d') => (Duration::from_hours(24), 1),
            _ if after.starts_with('h') => (Duration::from_hours(1), 1),
            _ if after.starts_with('m') => (Duration::from_mins(1), 1),
            _ if after.starts_with('s') => (Duration::from_secs(1), 1),
            _ => return Err(wrong()),
        };
        total = unit.checked_mul(count).and_then(|span| total.checked_add(span)).ok_or_else(wrong)?;
        rest = after[length..].trim_start();
    }
    if text.is_empty() || total > MOST { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_as_people_write_them() {
        for (text, ms) in [
            ("4h", 14_400_000),
            ("1h30m", 5_400_000),
            ("90s", 90_000),
            ("45", 45_000),
            ("0.5", 500),
            ("250ms", 250),
            ("2d", 172_800_000),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "x", "4", "h", "4x", "-1", "-1h", "nan", "1e30", "99999d", "4h junk"] {
            let fine = text == "4";
            assert_eq!(span(text).is_ok(), fine, "{text}");
        }
    }
}
