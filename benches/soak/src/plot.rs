//! Samples as a picture: an SVG for a browser, a line of blocks for a terminal.

use crate::Sample;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 50.0;

/// Columns of the terminal's version.
const COLUMNS: usize = 60;
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub fn svg(title: &str, across: &str, samples: &[Sample]) -> String {
    let (right, top) = (samples.last().map_or(1, |sample| sample.at.max(1)) as f64, highest(samples));
    let point = |sample: &Sample| {
        let x = MARGIN + sample.at as f64 / right * (WIDTH - 2.0 * MARGIN);
        let y = HEIGHT - MARGIN - sample.mib / top * (HEIGHT - 2.0 * MARGIN);
        format!("{x:.1},{y:.1}")
    };
    let points: Vec<String> = samples.iter().map(point).collect();
    let (bottom, end) = (HEIGHT - MARGIN, WIDTH - MARGIN);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{MARGIN}" y="24" font-size="14">{title}</text>
<path d="M{MARGIN} {MARGIN}V{bottom}H{end}" fill="none" stroke="#888"/>
<text x="4" y="{MARGIN}">{top:.1} MiB</text><text x="4" y="{bottom}">0</text>
<text x="{end}" y="{}" text-anchor="end">{right} {across}</text>
<polyline points="{}" fill="none" stroke="#b35900" stroke-width="1.5"/>
</svg>
"##,
        HEIGHT - MARGIN / 2.0,
        points.join(" ")
    )
}

pub fn line(samples: &[Sample]) -> String {
    let top = highest(samples);
    let step = samples.len().div_ceil(COLUMNS).max(1);
    let block = |sample: &Sample| BLOCKS[((sample.mib / top * 8.0) as usize).min(BLOCKS.len() - 1)];
    samples.iter().step_by(step).map(block).collect()
}

fn highest(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.mib).fold(f64::MIN_POSITIVE, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_curve_rises() {
        let samples: Vec<Sample> = (0..8).map(|at| Sample { at, mib: at as f64 }).collect();
        assert_eq!(line(&samples), "▁▂▃▄▅▆▇█");
        let picture = svg("memory", "turns", &samples);
        assert!(picture.contains("50.0,250.0 ") && picture.contains(" 850.0,50.0\""), "{picture}");
        assert!(picture.contains("7.0 MiB") && picture.contains("7 turns"));
        assert_eq!(line(&[]), "");
    }
}
