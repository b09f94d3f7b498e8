//! Token counts as the API reports them and as results sum them.

use serde::{Deserialize, Deserializer, Serialize};

/// One message's, or one turn's, token counts. Fields the API leaves out or sends as null are zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    #[serde(deserialize_with = "null_as_default")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub cache_creation_input_tokens: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub cache_read_input_tokens: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub server_tool_use: ServerToolUse,
    #[serde(deserialize_with = "null_as_standard")]
    pub service_tier: String,
    #[serde(deserialize_with = "null_as_default")]
    pub cache_creation: CacheCreation,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerToolUse {
    #[serde(deserialize_with = "null_as_default")]
    pub web_search_requests: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub web_fetch_requests: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheCreation {
    #[serde(deserialize_with = "null_as_default")]
    pub ephemeral_1h_input_tokens: u64,
    #[serde(deserialize_with = "null_as_default")]
    pub ephemeral_5m_input_tokens: u64,
}

const STANDARD_TIER: &str = "standard";

impl Default for Usage {
    fn default() -> Self {
        Self {
            input_tokens: 0,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 0,
            server_tool_use: ServerToolUse::default(),
            service_tier: STANDARD_TIER.into(),
            cache_creation: CacheCreation::default(),
        }
    }
}

fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn null_as_standard<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_else(|| STANDARD_TIER.into()))
}

impl Usage {
    /// Adds another message's counts; sums saturate so that a hostile count cannot panic.
    pub fn add(&mut self, other: &Self) {
        let sum = |into: &mut u64, from: u64| *into = into.saturating_add(from);
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens);
        sum(&mut self.cache_read_input_tokens, other.cache_read_input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.server_tool_use.web_search_requests, other.server_tool_use.web_search_requests);
        sum(&mut self.server_tool_use.web_fetch_requests, other.server_tool_use.web_fetch_requests);
        sum(&mut self.cache_creation.ephemeral_1h_input_tokens, other.cache_creation.ephemeral_1h_input_tokens);
        sum(&mut self.cache_creation.ephemeral_5m_input_tokens, other.cache_creation.ephemeral_5m_input_tokens);
        self.service_tier.clone_from(&other.service_tier);
    }

    /// Everything that occupied the context window when this message was made.
    pub fn context_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens)
            .saturating_add(self.output_tokens)
    }
}

crate::message::message! {
    /// What one model cost so far in this process, sub-agents and compaction included.
    pub struct ModelUsage {
        input_tokens: u64 = "inputTokens",
        output_tokens: u64 = "outputTokens",
        cache_read_input_tokens: u64 = "cacheReadInputTokens",
        cache_creation_input_tokens: u64 = "cacheCreationInputTokens",
        web_search_requests: u64 = "webSearchRequests",
        cost_usd: f64 = "costUSD",
        context_window: u64 = "contextWindow",
        max_output_tokens: u64 = "maxOutputTokens",
        /// Who answered: `firstParty`, `bedrock`, `mantle`, `anthropicAws`, `vertex`, `foundry`.
        provider: Option<String> = "provider" optional,
        /// Anthropic's id of the model without a date; the id as it was asked for where nothing is known about it.
        canonical_model: Option<String> = "canonicalModel" optional,
        /// `list`: the price of the list. `unknown`: none is known, and the cost is that of a relative.
        cost_basis: Option<String> = "costBasis" optional,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_and_absences_count_as_nothing() {
        let usage: Usage =
            serde_json::from_str(r#"{"input_tokens":5,"cache_read_input_tokens":null,"service_tier":null,"new":1}"#)
                .unwrap();
        assert_eq!(usage, Usage { input_tokens: 5, ..Usage::default() });
    }

    #[test]
    fn sums_saturate() {
        let mut usage = Usage { output_tokens: u64::MAX, ..Usage::default() };
        usage.add(&Usage { output_tokens: 7, input_tokens: 2, ..Usage::default() });
        assert_eq!((usage.output_tokens, usage.input_tokens), (u64::MAX, 2));
        assert_eq!(usage.context_tokens(), u64::MAX);
    }
}
