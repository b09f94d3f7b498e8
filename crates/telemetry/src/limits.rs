//! Limits on attributes, by the variables that the specification of OpenTelemetry names. Pure.
//!
//! Metrics and the resource have none, as the specification has it.

/// Attributes of a record and events of a span, where no variable says otherwise.
const COUNT: usize = 128;

/// For the attributes of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeLimits {
    pub count: usize,
    /// Characters of a text; `None`: any number.
    pub length: Option<usize>,
}

impl AttributeLimits {
    /// For metrics and the resource.
    pub(crate) const NONE: Self = Self { count: usize::MAX, length: None };

    /// How many of so many attributes are dropped.
    pub(crate) fn dropped(self, count: usize) -> usize {
        count.saturating_sub(self.count)
    }

    pub(crate) fn cut(self, text: &str) -> &str {
        let end = self.length.and_then(|most| text.char_indices().nth(most));
        end.map_or(text, |(end, _)| &text[..end])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub log: AttributeLimits,
    pub span: AttributeLimits,
    /// Of an event of a span.
    pub span_event: AttributeLimits,
    /// Events of one span.
    pub span_events: usize,
}

impl Limits {
    /// `number` is a variable's value; `None` where it is not set, or is no number. The signal's own variable wins over the
    /// one for all.
    pub(crate) fn read(number: &dyn Fn(&str) -> Option<usize>) -> Self {
        let own = |name: &str, general: &str| number(name).or_else(|| number(general));
        let count = |name: &str| own(name, "OTEL_ATTRIBUTE_COUNT_LIMIT").unwrap_or(COUNT);
        let length = |name: &str| own(name, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT");
        let span_length = length("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT");
        Self {
            log: AttributeLimits {
                count: count("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"),
                length: length("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
            },
            span: AttributeLimits { count: count("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"), length: span_length },
            span_event: AttributeLimits { count: count("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT"), length: span_length },
            span_events: number("OTEL_SPAN_EVENT_COUNT_LIMIT").unwrap_or(COUNT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, usize)]) -> Limits {
        Limits::read(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    #[test]
    fn a_signals_own_variable_wins_over_the_one_for_all() {
        let plain = AttributeLimits { count: COUNT, length: None };
        let all = |limits: Limits| [limits.log, limits.span, limits.span_event];
        assert_eq!((all(read(&[])), read(&[]).span_events), ([plain; 3], COUNT));
        let general = [("OTEL_ATTRIBUTE_COUNT_LIMIT", 7), ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", 9)];
        assert_eq!(all(read(&general)), [AttributeLimits { count: 7, length: Some(9) }; 3]);
        let own = [
            ("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", 1),
            ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", 2),
            ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", 3),
            ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", 4),
        ];
        let limits = read(&[&general[..], &own].concat());
        assert_eq!(all(limits).map(|limits| limits.count), [1, 2, 3]);
        assert_eq!(all(limits).map(|limits| limits.length), [Some(9), Some(4), Some(4)]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let to = |length| AttributeLimits { count: 0, length };
        let cuts = [(None, "aäö"), (Some(2), "aä"), (Some(3), "aäö"), (Some(0), "")];
        for (length, expected) in cuts {
            assert_eq!(to(length).cut("aäö"), expected, "{length:?}");
        }
    }
}
