//! The time of day, in the one form the wire and the transcript use.

pub fn now_iso() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
