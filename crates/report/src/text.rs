//! Text of agents on its way into a page.

use std::borrow::Cow;

/// Of a summary, an answer, a check's output. The whole is in the recording.
pub(crate) const BLOCK_MAX: usize = 8 * 1024;
/// Of a title, a command, a path.
pub(crate) const LINE_MAX: usize = 400;

/// For HTML, in text and in quoted attributes.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// One line, bounded, harmless.
pub(crate) fn line(text: &str) -> String {
    cycle::clean::line(&cycle::bounded(text.trim(), LINE_MAX)).into_owned()
}

/// Lines, bounded, harmless.
pub(crate) fn block(text: &str) -> String {
    cycle::clean::block(&cycle::bounded(text.trim_matches('\n'), BLOCK_MAX)).into_owned()
}

/// `2026-11-15 18:00`.
pub(crate) fn moment(at: u64, offset_ms: i64) -> String {
    let seconds = (i64::try_from(at).unwrap_or(0) + offset_ms).div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", second / 3600, second % 3600 / 60)
}

/// The date of a day since 1970, by the usual arithmetic with years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(escape("plain"), "plain");
        assert_eq!(escape(r#"<a href="x" onclick='y'>&"#), "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;");
        assert_eq!(line("a\u{202e}b\n\u{1b}[2Jc"), "a⟨U+202E⟩b␊␛[2Jc");
        assert!(line(&"x".repeat(10_000)).len() < 600);
        assert!(block(&"x\n".repeat(100_000)).len() < 2 * BLOCK_MAX);
    }

    #[test]
    fn moments_are_dates() {
        for (at, shown) in [
            (0, "1970-01-01 00:00"),
            (951_782_400_000, "2000-02-29 00:00"),
            (1_763_229_600_000, "2025-11-15 18:00"),
            (4_107_542_399_000, "2100-02-28 23:59"),
        ] {
            assert_eq!(moment(at, 0), shown);
        }
        assert_eq!(moment(0, -3_600_000), "1969-12-31 23:00");
    }
}
