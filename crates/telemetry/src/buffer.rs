//! Records that wait for the next export, within bounds. Pure.

use crate::attribute::Attributes;
use crate::config::Temporality;
use crate::event::Count;
use crate::record::{LogRecord, Point, Series, Span};

/// Records of one kind that wait at most; a collector that is down must not fill the memory. Later ones are dropped.
const WAITING_MAX: usize = 8192;
/// Series of one metric; attributes come from small sets.
const SERIES_MAX: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub(crate) logs: Vec<LogRecord>,
    pub(crate) spans: Vec<Span>,
    pub(crate) series: Vec<Series>,
}

impl Buffer {
    pub(crate) fn log(&mut self, record: LogRecord) {
        if self.logs.len() < WAITING_MAX {
            self.logs.push(record);
        }
    }

    pub(crate) fn span(&mut self, span: Span) {
        if self.spans.len() < WAITING_MAX {
            self.spans.push(span);
        }
    }

    pub(crate) fn add(&mut self, count: Count, common: &Attributes, now: u64) {
        if !count.value.is_finite() {
            return;
        }
        let (name, unit, description) = count.metric.words();
        let at = self.series.iter().position(|series| series.name == name).unwrap_or_else(|| {
            self.series.push(Series { name: name.to_owned(), unit, description, points: Vec::new() });
            self.series.len() - 1
        });
        let mut attributes = common.clone();
        attributes.extend(count.attributes);
        let points = &mut self.series[at].points;
        let has_room = points.len() < SERIES_MAX;
        match points.iter_mut().find(|point| point.attributes == attributes) {
            Some(point) => point.sum += count.value,
            None if has_room => points.push(Point { attributes, start: now, sum: count.value }),
            None => {}
        }
    }

    /// The sums to export. Delta sums begin anew; cumulative ones stay.
    pub(crate) fn take_series(&mut self, temporality: Temporality) -> Vec<Series> {
        match temporality {
            Temporality::Delta => std::mem::take(&mut self.series),
            Temporality::Cumulative => self.series.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Metric;

    #[test]
    fn sums_are_kept_by_attributes_and_begin_anew_where_they_are_deltas() {
        let mut buffer = Buffer::default();
        let common = vec![("user.id".to_owned(), "u".into())];
        let tokens = |kind: &str, value| Count::new(Metric::Tokens, value).with("type", kind);
        buffer.add(tokens("input", 5.0), &common, 10);
        buffer.add(tokens("output", 1.0), &common, 11);
        buffer.add(tokens("input", 2.0), &common, 12);
        buffer.add(tokens("input", f64::NAN), &common, 13);
        let kept = buffer.take_series(Temporality::Cumulative);
        assert_eq!(kept, buffer.series);
        let sums: Vec<(u64, f64)> = kept[0].points.iter().map(|point| (point.start, point.sum)).collect();
        assert_eq!(sums, [(10, 7.0), (11, 1.0)]);
        buffer.take_series(Temporality::Delta);
        assert!(buffer.series.is_empty());
    }
}
