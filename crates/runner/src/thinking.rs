//! The thinking budget of a model, by its size and the chosen reasoning.

use crate::Reasoning;

/// What each family may think at most. Others get the least of them.
const MOST: [(&str, u64); 3] = [("haiku", 16_384), ("sonnet", 32_768), ("opus", 16_384)];
const OTHERS: u64 = 16_384;

/// The value of `MAX_THINKING_TOKENS`; none at all means that the variable must not be set.
pub(crate) fn budget(model: &str, reasoning: Reasoning) -> Option<u64> {
    let most = MOST.iter().find(|(family, _)| model.contains(family)).map_or(OTHERS, |(_, most)| *most);
    match reasoning {
        Reasoning::None => None,
        Reasoning::Low => Some(most / 4),
        Reasoning::Med => Some(most / 2),
        Reasoning::High => Some(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_000_the_table() {
        for (model, reasoning, tokens) in [
            ("sonnet", Reasoning::Med, Some(16_384)),
            ("sonnet", Reasoning::High, Some(32_768)),
            ("sonnet", Reasoning::Low, Some(8_192)),
            ("sonnet", Reasoning::None, None),
            ("haiku", Reasoning::High, Some(16_384)),
            ("opus", Reasoning::Med, Some(8_192)),
            ("claude-sonnet-4-6", Reasoning::Med, Some(16_384)),
            ("something-else", Reasoning::High, Some(16_384)),
        ] {
            assert_eq!(budget(model, reasoning), tokens, "{model} {reasoning:?}");
        }
    }
}
