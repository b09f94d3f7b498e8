//! A usage limit in an agent's words: when will it be over?
//!
//! Typed events name the second; sentences name an hour, sometimes with a zone. Which moment an hour
//! is depends on zone tables, so that is `runner`'s to find out.

/// The agent may not go on for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitHit {
    pub reset: Option<Reset>,
    /// The agent's words, for people.
    pub words: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reset {
    /// Milliseconds since 1970.
    At(u64),
    After {
        ms: u64,
    },
    /// The next time that clocks there show this; `date` is as written (`Oct 7`).
    Clock {
        date: Option<String>,
        hour: u8,
        minute: u8,
        zone: Option<String>,
    },
}

/// How sentences about limits begin, in lower case. What an agent says about *its work* can hold these
/// words too, so callers ask only about errors.
const LIMIT_WORDS: [&str; 12] = [
    "hit your limit",
    "hit your session limit",
    "hit your weekly limit",
    "hit your usage limit",
    "usage limit reached",
    "session limit reached",
    "weekly limit reached",
    "5-hour limit reached",
    "rate limit",
    "rate_limit",
    "too many requests",
    "quota exceeded",
];

/// Reads an error's text.
pub(crate) fn limit_in(text: &str) -> Option<LimitHit> {
    let lower = text.to_lowercase();
    let line = |words: &str| lower.lines().position(|line| line.contains(words));
    let at = LIMIT_WORDS.iter().find_map(|words| line(words))?;
    let words = crate::text::bounded(text.lines().nth(at).unwrap_or(text).trim(), WORDS_MAX);
    Some(LimitHit { reset: reset_in(&lower), words })
}

/// A limit's sentence, with room for an error code around it.
const WORDS_MAX: usize = 300;

/// Seconds or milliseconds since 1970, whichever it can be.
pub(crate) fn moment(number: u64) -> u64 {
    const MILLISECONDS_FROM: u64 = 100_000_000_000;
    if number >= MILLISECONDS_FROM { number } else { number.saturating_mul(1000) }
}

fn reset_in(lower: &str) -> Option<Reset> {
    if let Some((_, after)) = lower.split_once("limit reached|") {
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        return digits.parse().ok().map(|number| Reset::At(moment(number)));
    }
    if let Some((_, after)) = lower.split_once("retry after ").or_else(|| lower.split_once("try again in ")) {
        return duration(after);
    }
    let (_, after) = lower.split_once("resets ").or_else(|| lower.split_once("reset at "))?;
    clock(after.trim_start_matches("at "))
}

/// `30s`, `5 minutes`, `1 hour`.
fn duration(text: &str) -> Option<Reset> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let count: u64 = digits.parse().ok()?;
    let unit = text[digits.len()..].trim_start().chars().next();
    let each = match unit {
        Some('m') => 60_000,
        Some('h') => 3_600_000,
        _ => 1000,
    };
    Some(Reset::After { ms: count.saturating_mul(each) })
}

/// `5pm (europe/vilnius)`, `3:30am`, `oct 7, 10am`, `17:00`.
fn clock(text: &str) -> Option<Reset> {
    let line = text.lines().next()?;
    let zone = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(zone, _)| zone.trim().to_owned());
    let head = line.split(['(', '·']).next()?.trim();
    let (date, time) = match head.rsplit_once(", ").or_else(|| head.rsplit_once(" at ")) {
        Some((date, time)) => (Some(date.trim().to_owned()), time),
        None => (None, head),
    };
    let time = time.trim().trim_end_matches('.').replace(' ', "");
    let (digits, half) = match (time.strip_suffix("am"), time.strip_suffix("pm")) {
        (Some(digits), _) => (digits.to_owned(), Some(0)),
        (_, Some(digits)) => (digits.to_owned(), Some(12)),
        _ => (time.clone(), None),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((&digits, "0"));
    let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
        None => hour,
    };
    (hour < 24 && minute < 60).then_some(Reset::Clock { date, hour, minute, zone })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: u8, minute: u8, zone: &str, date: &str) -> Reset {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Reset::Clock { date: some(date), hour, minute, zone: some(zone) }
    }

    #[test]
    fn adversary_46_reset_times_are_read_in_every_wording() {
        for (text, reset) in [
            ("You've hit your limit · resets 5pm (Europe/Vilnius)", Some(at(17, 0, "europe/vilnius", ""))),
            ("You've hit your session limit · resets 3:30am", Some(at(3, 30, "", ""))),
            ("You've hit your limit · resets 12am · API Error: slow down", Some(at(0, 0, "", ""))),
            ("Weekly limit reached · resets Oct 7, 10am (UTC)", Some(at(10, 0, "utc", "oct 7"))),
            ("5-hour limit reached ∙ resets 17:00", Some(at(17, 0, "", ""))),
            ("Claude AI usage limit reached|1760000000", Some(Reset::At(1_760_000_000_000))),
            ("429 Too Many Requests, retry after 30s", Some(Reset::After { ms: 30_000 })),
            ("rate limit: try again in 5 minutes", Some(Reset::After { ms: 300_000 })),
            ("hit your limit · resets 25:99", None),
            ("hit your limit · resets 13pm", None),
        ] {
            assert_eq!(limit_in(text).map(|hit| hit.reset), Some(reset), "{text}");
        }
        assert_eq!(limit_in("the build failed"), None);
        assert_eq!(limit_in("API Error: 529 Overloaded"), None, "an outage, not a limit");
    }

    #[test]
    fn the_words_are_one_line() {
        let hit = limit_in("some noise\nYou've hit your limit · resets 5pm\nmore").expect("a limit");
        assert_eq!(hit.words, "You've hit your limit · resets 5pm");
    }
}
