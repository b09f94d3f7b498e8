//! Numbers in the few columns that a screen has.

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

pub fn usd(amount: f64) -> String {
    format!("${amount:.2}")
}

/// How much of the window is in use. Nothing is known without a window.
pub fn percent(part: u64, whole: u64) -> Option<u64> {
    part.saturating_mul(100).checked_div(whole).map(|percent| percent.min(100))
}

/// A bar of `width` columns, in eighths.
pub fn bar(part: u64, whole: u64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.min(whole) as usize).saturating_mul(width * 8).checked_div(whole as usize).unwrap_or(0);
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(EIGHTHS[eighths % 8]);
    let used = eighths.div_ceil(8);
    bar.push_str(&"░".repeat(width - used));
    bar
}

/// The last `width` values, the largest at full height.
pub fn sparkline<'a>(values: impl DoubleEndedIterator<Item = &'a f64>, width: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last: Vec<f64> = values.rev().take(width).copied().collect();
    let most = last.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    last.iter().rev().map(|value| HEIGHTS[((value / most * 7.0).round() as usize).min(7)]).collect()
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
        assert_eq!((percent(74, 200), percent(300, 200), percent(1, 0)), (Some(37), Some(100), None));
        assert_eq!(percent(u64::MAX, u64::MAX), Some(1));
    }

    #[test]
    fn bars_are_as_wide_as_asked() {
        for (part, whole, shown) in
            [(0, 4, "░░░░"), (4, 4, "████"), (9, 4, "████"), (1, 3, "█▎░░"), (1, 8, "▌░░░"), (1, 0, "░░░░")]
        {
            assert_eq!(bar(part, whole, 4), shown, "{part} of {whole}");
        }
    }

    #[test]
    fn the_largest_value_is_the_highest() {
        assert_eq!(sparkline([0.0, 1.0, 2.0].iter(), 9), "▁▅█");
        assert_eq!(sparkline([9.0, 1.0, 2.0].iter(), 2), "▅█");
        assert_eq!(sparkline([0.0].iter(), 2), "▁");
        assert_eq!(sparkline([].iter(), 2), "");
    }
}
