//! Which traces are exported, by the variables that the specification of OpenTelemetry names. Pure.
//!
//! All spans of a trace have the same answer, also those of other processes that decide by the trace's id. Deliberately absent:
//! samplers that ask somebody else.

use crate::trace::{TraceContext, TraceId};

/// The bits of a trace's id that are random, and as a number the first that is not among them.
const RANDOM_BITS: u128 = (1 << 56) - 1;
const RANDOM_END: f64 = 72_057_594_037_927_936.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampler {
    /// The span that came in from outside decides, where there is one.
    asks_parent: bool,
    /// Which part of the traces is exported, from 0 to 1.
    share: f64,
}

impl Sampler {
    const ALL: Self = Self { asks_parent: true, share: 1.0 };

    /// By the values of `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`. A name that nobody knows counts as none, and a
    /// share that is not one as all.
    pub(crate) fn read(name: Option<&str>, argument: Option<&str>) -> Self {
        let Some(name) = name else { return Self::ALL };
        let (asks_parent, name) = match name.strip_prefix("parentbased_") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let share = match name {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                argument.and_then(|share| share.parse().ok()).filter(|share| (0.0..=1.0).contains(share)).unwrap_or(1.0)
            }
            _ => return Self::ALL,
        };
        Self { asks_parent, share }
    }

    /// Nothing is ever exported.
    pub(crate) fn is_off(self) -> bool {
        !self.asks_parent && self.share == 0.0
    }

    pub(crate) fn takes(self, trace: TraceId, incoming: Option<TraceContext>) -> bool {
        match incoming {
            Some(parent) if self.asks_parent => parent.is_sampled,
            // The last ones of as many as the random part can count.
            _ => trace.0 & RANDOM_BITS >= ((1.0 - self.share) * RANDOM_END) as u128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SpanId;

    const LOW: TraceId = TraceId(0xffff_ffff_ffff_ffff_ff00_0000_0000_0001);
    const HIGH: TraceId = TraceId(0x00ff_ffff_ffff_ffff);

    fn parent(is_sampled: bool) -> TraceContext {
        TraceContext { trace: LOW, span: SpanId(1), is_sampled }
    }

    #[test]
    fn a_sampler_takes_what_its_name_says() {
        // Without a parent, below one that is exported, below one that is not; each for two traces.
        let all = [[true; 3]; 2];
        let none = [[false; 3]; 2];
        let as_parent = |low: bool, high: bool| [[low, true, false], [high, true, false]];
        for (name, argument, expected) in [
            (None, None, as_parent(true, true)),
            (Some("always_on"), None, all),
            (Some("always_off"), None, none),
            (Some("traceidratio"), Some("0.5"), [[false; 3], [true; 3]]),
            (Some("traceidratio"), Some("0"), none),
            (Some("traceidratio"), None, all),
            (Some("traceidratio"), Some("2"), all),
            (Some("traceidratio"), Some("half"), all),
            (Some("parentbased_always_on"), None, as_parent(true, true)),
            (Some("parentbased_always_off"), None, as_parent(false, false)),
            (Some("parentbased_traceidratio"), Some("0.25"), as_parent(false, true)),
            (Some("jaeger_remote"), None, as_parent(true, true)),
        ] {
            let sampler = Sampler::read(name, argument);
            let takes =
                |trace| [None, Some(parent(true)), Some(parent(false))].map(|parent| sampler.takes(trace, parent));
            assert_eq!([takes(LOW), takes(HIGH)], expected, "{name:?} {argument:?}");
        }
        assert!(Sampler::read(Some("always_off"), None).is_off());
        assert!(!Sampler::read(Some("parentbased_always_off"), None).is_off(), "a parent may still want it");
    }

    #[test]
    fn a_share_is_about_that_share() {
        let sampler = Sampler::read(Some("traceidratio"), Some("0.3"));
        let taken = (0..2000).filter(|_| sampler.takes(TraceId::random(), None)).count();
        assert!((450..750).contains(&taken), "{taken}");
    }
}
