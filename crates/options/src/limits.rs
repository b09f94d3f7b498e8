//! Bounds of a machine, from the options.

use crate::{AutoCompact, Options};

/// Room kept free for the next answer and its tool results.
const HEADROOM_TOKENS: u64 = 33_000;

pub fn limits(options: &Options, max_answers: Option<u32>) -> turn::Limits {
    let limits = &options.limits;
    turn::Limits {
        max_answers,
        budget_usd: limits.max_budget_usd,
        schema_retries: limits.schema_retries,
        stop_blocks: options.stop_block_cap,
        subagent_depth: limits.agent_depth,
        subagents_at_once: limits.agents_at_once,
        subagent_output: limits.agent_output,
        concurrency: options.tools.concurrency,
    }
}

/// Size of the context, in tokens, from which on a conversation with this model is compacted.
pub fn compact_at(options: &Options, model: &str) -> Option<u64> {
    let own = model::info(model).context_window;
    let window = options.asking.window.map_or(own, |most| most.min(own));
    threshold(options.asking.auto_compact, window)
}

fn threshold(setting: AutoCompact, window: u64) -> Option<u64> {
    match setting {
        AutoCompact::Off => None,
        AutoCompact::Auto => Some(window.saturating_sub(HEADROOM_TOKENS).max(window / 2)),
        AutoCompact::At(tokens) => Some(tokens.min(window)),
        AutoCompact::Percent(share) => {
            let usual = threshold(AutoCompact::Auto, window)?;
            Some((window / 100 * share).min(usual))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_leaves_room_and_never_vanishes() {
        assert_eq!(threshold(AutoCompact::Auto, 200_000), Some(167_000));
        assert_eq!(threshold(AutoCompact::Auto, 1_000_000), Some(967_000));
        assert_eq!(threshold(AutoCompact::Auto, 40_000), Some(20_000));
        assert_eq!(threshold(AutoCompact::At(300_000), 200_000), Some(200_000));
        assert_eq!(threshold(AutoCompact::Off, 200_000), None);
        assert_eq!(threshold(AutoCompact::Percent(10), 200_000), Some(20_000));
        assert_eq!(threshold(AutoCompact::Percent(99), 200_000), Some(167_000), "never later than usual");
    }
}
