//! Bars over the iterations, as SVG that takes its colours from the page.

use crate::text::escape;

/// Bars of one chart; more iterations share bars, by their sum.
const BARS_MAX: usize = 120;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 90.0;
/// Below the bars, for numbers of iterations.
const FOOT: f64 = 16.0;
const GAP: f64 = 1.5;
/// A bar that stands for something can be seen.
const LEAST: f64 = 1.5;
const WIDEST: f64 = 36.0;
/// Numbers below the bars that can be read beside one another.
const NUMBERS_MAX: usize = 12;

/// One iteration: its number, how much, and whether it went wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bar {
    pub(crate) number: u32,
    pub(crate) amount: f64,
    pub(crate) is_bad: bool,
}

pub(crate) fn bars(title: &str, bars: &[Bar], words: impl Fn(f64) -> String) -> String {
    let grouped = group(bars);
    let most = grouped.iter().map(|bar| bar.amount).fold(0.0_f64, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let step = ((WIDTH + GAP) / grouped.len() as f64).min(WIDEST + GAP);
    let mut svg = format!(
        "<figure><figcaption>{} <span class=dim>at most {}</span></figcaption>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=img aria-label=\"{}\">\n",
        escape(title),
        escape(&words(most)),
        HEIGHT + FOOT,
        escape(title)
    );
    for (at, bar) in grouped.iter().enumerate() {
        let height = if bar.amount > 0.0 { (bar.amount / most * HEIGHT).max(LEAST) } else { 0.0 };
        let class = if bar.is_bad { " class=bad" } else { "" };
        svg.push_str(&format!(
            "<rect{class} x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>iteration {}: {}</title></rect>\n",
            at as f64 * step,
            HEIGHT - height,
            (step - GAP).max(0.5),
            bar.number,
            escape(&words(bar.amount)),
        ));
    }
    for (at, bar) in grouped.iter().enumerate().step_by(grouped.len().div_ceil(NUMBERS_MAX)) {
        let middle = at as f64 * step + (step - GAP) / 2.0;
        svg.push_str(&format!("<text x=\"{middle:.1}\" y=\"{:.1}\">{}</text>\n", HEIGHT + FOOT - 3.0, bar.number));
    }
    svg.push_str(&format!("<path d=\"M0 {0}H{WIDTH}\"/>\n</svg></figure>\n", HEIGHT + 1.0));
    svg
}

fn group(bars: &[Bar]) -> Vec<Bar> {
    let size = bars.len().div_ceil(BARS_MAX).max(1);
    let sum = |chunk: &[Bar]| Bar {
        number: chunk.first().map_or(0, |bar| bar.number),
        amount: chunk.iter().map(|bar| if bar.amount.is_finite() { bar.amount.max(0.0) } else { 0.0 }).sum(),
        is_bad: chunk.iter().any(|bar| bar.is_bad),
    };
    bars.chunks(size).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(number: u32, amount: f64) -> Bar {
        Bar { number, amount, is_bad: false }
    }

    #[test]
    fn nothing_to_show_is_no_chart_and_many_iterations_share_bars() {
        assert_eq!(bars("Cost", &[], |x| x.to_string()), "");
        assert_eq!(bars("Cost", &[bar(1, 0.0)], |x| x.to_string()), "");
        let many: Vec<Bar> = (1..=1000).map(|n| bar(n, 1.0)).collect();
        let svg = bars("Cost", &many, |x| x.to_string());
        assert!(svg.matches("<rect").count() <= BARS_MAX && svg.contains("iteration 1: 9"), "{svg}");
        assert!(svg.matches("<text").count() <= NUMBERS_MAX && svg.contains(">1</text>"), "{svg}");
        let hostile =
            bars("Cost", &[bar(1, f64::NAN), bar(2, f64::INFINITY), bar(3, -1.0), bar(4, 2.0)], |x| x.to_string());
        assert!(!hostile.contains("NaN") && !hostile.contains("inf"), "{hostile}");
    }
}
