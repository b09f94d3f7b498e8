//! When a usage limit ends, on the clocks of the zone it names.

use cycle::Reset;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};

/// A reset further away is a misreading, and a wait for it a lost night.
const FURTHEST_MS: u64 = 8 * 24 * 60 * 60 * 1000;

/// Milliseconds since 1970; `None` where it cannot be told.
pub(crate) fn moment(reset: &Reset, now: u64, local: &TimeZone) -> Option<u64> {
    let at = match reset {
        Reset::At(at) => *at,
        Reset::After { ms } => now.saturating_add(*ms),
        Reset::Clock { date, hour, minute, zone } => {
            let zone = zone.as_deref().map_or(Some(local.clone()), named)?;
            let here = Timestamp::from_millisecond(i64::try_from(now).ok()?).ok()?.to_zoned(zone);
            let time = Time::new(i8::try_from(*hour).ok()?, i8::try_from(*minute).ok()?, 0, 0).ok()?;
            let next = match date {
                Some(date) => on_date(&here, date, time)?,
                None => next_at(&here, time)?,
            };
            u64::try_from(next.timestamp().as_millisecond()).ok()?
        }
    };
    (at <= now.saturating_add(FURTHEST_MS)).then_some(at)
}

/// Machines without zone tables know at least this one.
fn named(zone: &str) -> Option<TimeZone> {
    if zone.eq_ignore_ascii_case("utc") { Some(TimeZone::UTC) } else { TimeZone::get(zone).ok() }
}

fn next_at(here: &Zoned, time: Time) -> Option<Zoned> {
    let today = here.date().to_datetime(time).to_zoned(here.time_zone().clone()).ok()?;
    if today > *here {
        return Some(today);
    }
    here.date().checked_add(1.day()).ok()?.to_datetime(time).to_zoned(here.time_zone().clone()).ok()
}

/// `oct 7`: this year's, or next year's where that is long past.
fn on_date(here: &Zoned, date: &str, time: Time) -> Option<Zoned> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (month, day) = date.trim().split_once(' ')?;
    let month = MONTHS.iter().position(|name| month.starts_with(name))? as i8 + 1;
    let day: i8 = day.trim().parse().ok()?;
    let in_year = |year: i16| {
        jiff::civil::Date::new(year, month, day).ok()?.to_datetime(time).to_zoned(here.time_zone().clone()).ok()
    };
    let this = in_year(here.year())?;
    if this > *here { Some(this) } else { in_year(here.year() + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_the_next_such_hour_in_their_zone() {
        let now = "2026-10-06T12:00:00Z".parse::<Timestamp>().unwrap().as_millisecond() as u64;
        let clock = |hour, date: Option<&str>| Reset::Clock {
            date: date.map(str::to_owned),
            hour,
            minute: 30,
            zone: Some("utc".into()),
        };
        for (reset, expected) in [
            (clock(17, None), Some("2026-10-06T17:30:00Z")),
            (clock(5, None), Some("2026-10-07T05:30:00Z")),
            (clock(10, Some("oct 7")), Some("2026-10-07T10:30:00Z")),
            (Reset::After { ms: 60_000 }, Some("2026-10-06T12:01:00Z")),
            (clock(10, Some("oct 1")), None),
            (Reset::At(now + 100 * 24 * 3_600_000), None),
        ] {
            let expected = expected.map(|at| at.parse::<Timestamp>().unwrap().as_millisecond() as u64);
            assert_eq!(moment(&reset, now, &TimeZone::UTC), expected, "{reset:?}");
        }
    }
}
