//! What messages cost, for a loop that has to know it before an agent says so.

use cycle::Tokens;

/// By the list prices of the model, which may be an alias. Cache writes count as short-lived ones.
pub fn usd(named: &str, tokens: Tokens) -> f64 {
    // Whoever still answers as a retired model is paid as one.
    let env = model::ModelEnv { disable_legacy_remap: true, ..model::ModelEnv::default() };
    let usage = wire::Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_input_tokens: tokens.cache_read,
        cache_creation_input_tokens: tokens.cache_write,
        ..wire::Usage::default()
    };
    model::cost_usd(&usage, &model::info(&model::resolve(named, &env)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_and_its_model_have_one_price_and_models_differ() {
        let tokens = Tokens { input: 1_000_000, output: 100_000, ..Tokens::default() };
        let sonnet = usd("sonnet", tokens);
        let id = model::resolve("sonnet", &model::ModelEnv::default());
        assert!(sonnet > 0.0 && (sonnet - usd(&id, tokens)).abs() < 1e-9, "{id}: {sonnet}");
        assert!(usd("haiku", tokens) < sonnet);
        assert!(usd("sonnet", Tokens::default()).abs() < 1e-9);
    }
}
