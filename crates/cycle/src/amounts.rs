//! Numbers in few columns, the same on the screen and in logs.

/// `4.2 s`, `12m 03s`, `3h 07m`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// As [`duration`], without tenths: for clocks that tick once a second.
pub fn clock(ms: u64) -> String {
    if ms < 60_000 { format!("{}s", ms / 1000) } else { duration(ms) }
}

/// `950`, `12.3k`, `4.5M`.
pub fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Cents, and tenths of a cent where that is all there is.
pub fn usd(amount: f64) -> String {
    // A zero with a sign is still nothing.
    let amount = amount + 0.0;
    if amount > 0.0 && amount < 0.0995 { format!("${amount:.3}") } else { format!("${amount:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_for_numbers() {
        for (ms, shown) in [(0, "0.0 s"), (4_250, "4.2 s"), (723_000, "12m 03s"), (11_220_000, "3h 07m")] {
            assert_eq!(duration(ms), shown);
        }
        assert_eq!((clock(4_250).as_str(), clock(61_000).as_str()), ("4s", "1m 01s"));
        for (number, shown) in [(0, "0"), (999, "999"), (12_345, "12.3k"), (4_500_000, "4.5M")] {
            assert_eq!(count(number), shown);
        }
        for (amount, shown) in
            [(0.0, "$0.00"), (-0.0, "$0.00"), (0.0042, "$0.004"), (0.0999, "$0.10"), (12.345, "$12.35")]
        {
            assert_eq!(usd(amount), shown);
        }
    }
}
