//! The time of day, in the one form the wire and the transcript use.

pub fn now_iso() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A moment as people write it: `5pm (Europe/Vilnius)`, `5:30pm (UTC)`.
pub fn time_of_day(moment: jiff::Timestamp) -> String {
    let local = moment.to_zoned(jiff::tz::TimeZone::system());
    let time = local.strftime(if local.minute() == 0 { "%-I%P" } else { "%-I:%M%P" });
    let zone = local.time_zone().iana_name().unwrap_or("UTC").to_owned();
    format!("{time} ({zone})")
}

pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
