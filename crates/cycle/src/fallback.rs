//! The model of an iteration: the run's own, or a fallback while the run's own is at its usage limit.
//!
//! Number 0 is the run's own model; the others are the plan's `fallback`, in its order. Pure: times are parameters.

/// A fallback model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackModel {
    /// As the user wrote it, such as `bedrock:us.anthropic.claude-x`.
    pub name: String,
    /// The model as the agent is asked for it.
    pub model: String,
}

/// The time at which each model is free again. A model is limited until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fallbacks {
    free_at: Vec<u64>,
    pub(crate) current: usize,
}

impl Fallbacks {
    /// The run's own model and so many others, all of them free.
    pub(crate) fn new(others: usize) -> Self {
        Self { free_at: vec![0; others.saturating_add(1)], current: 0 }
    }

    /// The model in use has reached a limit that ends then.
    pub(crate) fn limit_current(&mut self, until: u64) {
        if let Some(free_at) = self.free_at.get_mut(self.current) {
            *free_at = until;
        }
    }

    /// The first free model: the run's own as soon as it is free. `None` while all are limited.
    pub(crate) fn first_free(&self, now: u64) -> Option<usize> {
        self.free_at.iter().position(|free_at| *free_at <= now)
    }

    /// The time at which the next model is free.
    pub(crate) fn next_free(&self) -> u64 {
        self.free_at.iter().copied().min().unwrap_or(0)
    }

    /// The model to use at once, where the wait would be longer than the user's limit.
    pub(crate) fn instead_of_waiting(&self, now: u64, until: u64, after_ms: u64) -> Option<usize> {
        (until.saturating_sub(now) > after_ms).then(|| self.first_free(now)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_limit_moves_to_the_first_free_way_and_a_short_one_waits() {
        type Row = (&'static [(usize, u64)], usize, u64, Option<usize>);
        const AFTER: u64 = 100;
        // Limits (way, until), now, the new limit of the current way, what is taken instead of waiting.
        let rows: [Row; 5] = [
            (&[], 0, 1200, Some(1)),
            (&[], 0, 1100, None),
            (&[(0, 5000)], 1, 9000, Some(2)),
            (&[(0, 5000), (1, 6000)], 2, 9000, None),
            (&[(1, 6000)], 0, 9000, Some(2)),
        ];
        for (limits, current, until, expected) in rows {
            let mut ways = Fallbacks::new(2);
            for (way, free_at) in limits {
                ways.current = *way;
                ways.limit_current(*free_at);
            }
            ways.current = current;
            ways.limit_current(until);
            assert_eq!(ways.instead_of_waiting(1000, until, AFTER), expected, "{limits:?} {current} {until}");
        }
    }

    #[test]
    fn the_first_way_is_taken_again_as_soon_as_it_is_free() {
        let mut ways = Fallbacks::new(1);
        ways.limit_current(500);
        assert_eq!((ways.first_free(499), ways.first_free(500)), (Some(1), Some(0)));
        ways.current = 1;
        ways.limit_current(300);
        assert_eq!((ways.first_free(299), ways.next_free()), (None, 300));
        let alone = Fallbacks::new(0);
        assert_eq!(alone.instead_of_waiting(0, 1000, 0), Some(0), "nothing is limited yet");
    }
}
