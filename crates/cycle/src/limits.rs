//! The limits of a run: time, money, tokens. An absent limit does not count; zero allows nothing.

use crate::Tokens;
use serde::{Deserialize, Serialize};

/// The limits of a run. `iteration`, `run` and `day` hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunLimits {
    /// Zero is no limit, as loops have it (`--max 0`).
    pub iterations: u32,
    pub iteration: Allowance,
    pub run: Allowance,
    pub day: Allowance,
}

impl RunLimits {
    fn all(&self) -> [&Allowance; 3] {
        [&self.iteration, &self.run, &self.day]
    }

    /// Whether money is limited, in any span.
    pub fn any_usd(&self) -> bool {
        self.all().iter().any(|allowance| allowance.usd.is_some())
    }

    /// Whether tokens are limited, in any span.
    pub fn any_tokens(&self) -> bool {
        self.all().iter().any(|allowance| allowance.tokens.is_some())
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Allowance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What was used: of one iteration, of a run, or of a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    pub time_ms: u64,
    pub usd: f64,
    pub tokens: Tokens,
}

impl Spent {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            time_ms: self.time_ms.saturating_add(other.time_ms),
            usd: self.usd + other.usd,
            tokens: self.tokens.plus(other.tokens),
        }
    }
}

impl Spent {
    /// What came on top of `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            time_ms: self.time_ms.saturating_sub(before.time_ms),
            usd: (self.usd - before.usd).max(0.0),
            tokens: self.tokens.since(before.tokens),
        }
    }
}

impl Allowance {
    /// Which limit is reached, in words.
    pub(crate) fn reached(&self, spent: Spent) -> Option<String> {
        if self.time_ms.is_some_and(|limit| spent.time_ms >= limit) {
            return Some(format!("{} of time are used", span(self.time_ms.unwrap_or_default())));
        }
        // Not "greater or equal" the other way round: a sum that is no number must not slip through.
        if let Some(limit) = self.usd
            && !matches!(spent.usd.partial_cmp(&limit), Some(std::cmp::Ordering::Less))
        {
            return Some(format!("${:.2} of ${limit:.2} are spent", spent.usd));
        }
        let used = spent.tokens.total();
        self.tokens.filter(|limit| used >= *limit).map(|limit| format!("{used} of {limit} tokens are used"))
    }

    pub(crate) fn left(&self, spent: Spent) -> Self {
        Self {
            time_ms: self.time_ms.map(|limit| limit.saturating_sub(spent.time_ms)),
            usd: self.usd.map(|limit| (limit - spent.usd).max(0.0)),
            tokens: self.tokens.map(|limit| limit.saturating_sub(spent.tokens.total())),
        }
    }

    /// The tighter of both, limit by limit.
    pub(crate) fn tighter(self, other: Self) -> Self {
        fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(if other < one { other } else { one }),
                (one, other) => one.or(other),
            }
        }
        Self {
            time_ms: least(self.time_ms, other.time_ms),
            usd: least(self.usd, other.usd),
            tokens: least(self.tokens, other.tokens),
        }
    }
}

/// `4h`, `90m`, `45s`.
fn span(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds >= 3600 && seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        seconds if seconds >= 60 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        seconds if seconds > 0 => format!("{seconds}s"),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_by_itself() {
        let spent = Spent { time_ms: 5000, usd: 1.0, tokens: Tokens { output: 70, input: 30, ..Tokens::default() } };
        for (allowance, reached) in [
            (Allowance::default(), None),
            (Allowance { time_ms: Some(5001), usd: Some(1.01), tokens: Some(101) }, None),
            (Allowance { time_ms: Some(5000), ..Allowance::default() }, Some("5s of time are used")),
            (Allowance { usd: Some(1.0), ..Allowance::default() }, Some("$1.00 of $1.00 are spent")),
            (Allowance { usd: Some(0.0), ..Allowance::default() }, Some("$1.00 of $0.00 are spent")),
            (Allowance { tokens: Some(100), ..Allowance::default() }, Some("100 of 100 tokens are used")),
        ] {
            assert_eq!(allowance.reached(spent).as_deref(), reached, "{allowance:?}");
        }
        let no_number = Spent { usd: f64::NAN, ..spent };
        assert!(Allowance { usd: Some(9.0), ..Allowance::default() }.reached(no_number).is_some());
    }

    #[test]
    fn what_is_left_is_the_tightest() {
        let one = Allowance { time_ms: Some(10), usd: None, tokens: Some(5) };
        let other = Allowance { time_ms: Some(3), usd: Some(1.0), tokens: None };
        assert_eq!(one.tighter(other), Allowance { time_ms: Some(3), usd: Some(1.0), tokens: Some(5) });
    }
}
