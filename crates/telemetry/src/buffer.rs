//! Records that wait for the next export, within bounds. Pure.

use crate::attribute::{Attributes, Value};
use crate::config::Temporality;
use crate::event::Count;
use crate::record::{LogRecord, Point, Series, Span};

/// Records of one kind that wait at most; a collector that is down must not fill the memory. Later ones are dropped.
const WAITING_MAX: usize = 8192;
/// Bytes of texts in the records of one kind that wait: released content makes a record large.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Series of one metric; attributes come from small sets.
const SERIES_MAX: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Buffer {
    logs: Vec<LogRecord>,
    spans: Vec<Span>,
    pub(crate) series: Vec<Series>,
    log_bytes: usize,
    span_bytes: usize,
}

fn bytes(attributes: &Attributes) -> usize {
    let of_value = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.iter().map(String::len).sum(),
        Value::Int(_) | Value::Double(_) | Value::Bool(_) => 0,
    };
    attributes.iter().map(|(name, value)| name.len() + of_value(value)).sum()
}

impl Buffer {
    pub(crate) fn log(&mut self, record: LogRecord) {
        let size = bytes(&record.attributes);
        if self.logs.len() < WAITING_MAX && self.log_bytes + size <= WAITING_BYTES_MAX {
            self.log_bytes += size;
            self.logs.push(record);
        }
    }

    pub(crate) fn take_logs(&mut self) -> Vec<LogRecord> {
        self.log_bytes = 0;
        std::mem::take(&mut self.logs)
    }

    pub(crate) fn span(&mut self, span: Span) {
        let size = bytes(&span.attributes) + span.events.iter().map(|(.., more)| bytes(more)).sum::<usize>();
        if self.spans.len() < WAITING_MAX && self.span_bytes + size <= WAITING_BYTES_MAX {
            self.span_bytes += size;
            self.spans.push(span);
        }
    }

    pub(crate) fn take_spans(&mut self) -> Vec<Span> {
        self.span_bytes = 0;
        std::mem::take(&mut self.spans)
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
    fn records_that_wait_have_a_bound_in_number_and_in_bytes() {
        let record = |size: usize| LogRecord {
            at: 1,
            body: String::new(),
            attributes: vec![("body".to_owned(), "x".repeat(size).into())],
            context: None,
        };
        let mut buffer = Buffer::default();
        for _ in 0..100 {
            buffer.log(record(1024 * 1024));
        }
        // A small one still fits.
        buffer.log(record(10));
        assert_eq!(buffer.take_logs().len(), 32);
        buffer.log(record(10));
        assert_eq!(buffer.take_logs().len(), 1, "the room is there again after an export");
    }

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
