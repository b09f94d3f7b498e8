//! The table, in Markdown.

use crate::scenarios::{Row, Target};

pub fn markdown(ours: &[Row], reference: Option<&[Row]>) -> String {
    let mut text = String::from("| measure | ours | reference | ratio | target |\n|---|---|---|---|---|\n");
    for (at, row) in ours.iter().enumerate() {
        let other = reference.and_then(|rows| rows.get(at)).map(|row| row.value);
        let ratio = other.map(|other| other / row.value);
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            row.name,
            amount(row.value, row.unit),
            other.map_or_else(|| "–".into(), |value| amount(value, row.unit)),
            ratio.map_or_else(|| "–".into(), |ratio| format!("{ratio:.0}×")),
            target(row, ratio),
        ));
    }
    text
}

fn amount(value: f64, unit: &str) -> String {
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn target(row: &Row, ratio: Option<f64>) -> String {
    let (words, met) = match row.target {
        Target::Times(times) => (format!("≥ {times:.0}×"), ratio.map(|ratio| ratio >= times)),
        Target::AtMost(most) => (format!("≤ {}", amount(most, row.unit)), Some(row.value <= most)),
    };
    match met {
        Some(true) => format!("{words}, met"),
        Some(false) => format!("{words}, missed"),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: f64, target: Target) -> Row {
        Row { name: "x", unit: "ms", value, target }
    }

    #[test]
    fn ratios_and_bounds_are_judged() {
        let ours = [row(2.0, Target::Times(60.0)), row(12.0, Target::AtMost(10.0))];
        let reference = [row(140.0, Target::Times(60.0)), row(24.0, Target::AtMost(10.0))];
        let table = markdown(&ours, Some(&reference));
        assert!(table.contains("| x | 2.0 ms | 140 ms | 70× | ≥ 60×, met |"), "{table}");
        assert!(table.contains("| x | 12 ms | 24 ms | 2× | ≤ 10 ms, missed |"), "{table}");
        assert!(markdown(&ours, None).contains("| x | 2.0 ms | – | – | ≥ 60× |"));
    }
}
