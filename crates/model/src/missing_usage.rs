//! Counts for an answer whose server gave none: a budget must not take it for free.

use serde_json::Value;

/// Roughly what a token is in English and in code.
const BYTES_PER_TOKEN: u64 = 4;

/// The counts themselves where there are any, else estimates from what was sent and what came.
pub(crate) fn estimated(usage: wire::Usage, request_bytes: usize, blocks: &[Value]) -> wire::Usage {
    let counted =
        [usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens];
    if counted.iter().any(|count| *count > 0) || blocks.is_empty() {
        return usage;
    }
    let tokens = |bytes: u64| bytes.div_ceil(BYTES_PER_TOKEN);
    let written: usize = blocks.iter().map(wire::expected_length).sum();
    wire::Usage { input_tokens: tokens(request_bytes as u64), output_tokens: tokens(written as u64), ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_missing_is_estimated() {
        let blocks = [json!({"type": "text", "text": "x".repeat(400)})];
        let made = estimated(wire::Usage::default(), 4000, &blocks);
        assert!(made.input_tokens == 1000 && (100..130).contains(&made.output_tokens), "{made:?}");
        let some = wire::Usage { output_tokens: 7, ..wire::Usage::default() };
        let kept = estimated(some, 4000, &blocks);
        assert_eq!((kept.input_tokens, kept.output_tokens), (0, 7));
        assert_eq!(estimated(wire::Usage::default(), 4000, &[]).input_tokens, 0);
    }
}
