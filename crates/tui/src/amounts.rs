//! Numbers as pictures, and the words for them that all reporters share.

pub use cycle::amounts::{clock, count, duration, usd};

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
    fn a_part_of_nothing_is_unknown() {
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
