//! Trace context: ids, and the `TRACEPARENT` that carries them between processes.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId(pub u64);

impl fmt::Display for TraceId {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{:016x}", self.0)
    }
}

impl TraceId {
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().as_u128())
    }
}

impl SpanId {
    pub fn random() -> Self {
        Self((uuid::Uuid::new_v4().as_u128() >> 64) as u64 | 1)
    }

    /// The same id for the same words, never zero: a parent's id is known before its span has ended.
    pub fn of(trace: TraceId, words: &[&str]) -> Self {
        let mut hasher = DefaultHasher::new();
        (trace.0, words).hash(&mut hasher);
        Self(hasher.finish() | 1)
    }
}

/// A span of another process that ours belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    /// Its spans are exported.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Reads a `TRACEPARENT`. What is not one counts as none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if !is_hex(version, 2) || version == "ff" || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        // The first bit says whether the span is exported; the others are somebody else's.
        let is_sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(Self { trace: TraceId(trace), span: SpanId(span), is_sampled })
    }
}

impl fmt::Display for TraceContext {
    /// As a `TRACEPARENT`.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_goes_in_and_out() {
        let text = "00-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01";
        assert_eq!(TraceContext::parse(text).unwrap().to_string(), text);
        let unsampled = text.replace("-01", "-00");
        assert_eq!(TraceContext::parse(&unsampled).unwrap().to_string(), unsampled);
        assert_eq!(TraceContext::parse(&text.replace("-01", "-03")).unwrap().to_string(), text);
        for bad in [
            "",
            "00-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947",
            "00-00000000000000000000000000000000-b6e2c8e270195947-01",
            "00-2aae912c5d41eeb1c6c61e348f96934f-0000000000000000-01",
            "00-2AAE912C5D41EEB1C6C61E348F96934F-b6e2c8e270195947-01",
            "ff-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01",
            "00-+aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01",
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_known_span_has_one_id() {
        let trace = TraceId(7);
        assert_eq!(SpanId::of(trace, &["run", "1"]), SpanId::of(trace, &["run", "1"]));
        assert_ne!(SpanId::of(trace, &["run", "1"]), SpanId::of(trace, &["run", "2"]));
    }
}
