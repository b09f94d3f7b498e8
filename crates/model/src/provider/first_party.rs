//! Anthropic's own API, and every gateway that speaks it behind `ANTHROPIC_BASE_URL`.

use super::endpoint::{AuthPlan, BetaPlace, Endpoint, Operation, Provider, own_beta_place};
use super::ids;
use super::variables::{SetupError, Variables};

/// The address of the API where no other is configured.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

#[derive(Debug)]
pub struct FirstParty;

impl Provider for FirstParty {
    fn name(&self) -> &'static str {
        "firstParty"
    }

    fn short_name(&self) -> &'static str {
        "anthropic"
    }

    fn switch(&self) -> Option<&'static str> {
        None
    }

    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError> {
        let base = variables.url("ANTHROPIC_BASE_URL", DEFAULT_BASE_URL)?;
        let is_custom_base = variables.get("ANTHROPIC_BASE_URL").is_some();
        Ok(Endpoint { is_custom_base, ..Endpoint::new(self, base, AuthPlan::FirstParty) })
    }

    fn model_id(&self, asked: &ids::Asked, _: &Endpoint) -> String {
        asked.anthropic_id()
    }

    fn path(&self, _: &Endpoint, operation: Operation, _: &str) -> String {
        match operation {
            Operation::Stream => "v1/messages".to_owned(),
            Operation::CountTokens => "v1/messages/count_tokens".to_owned(),
        }
    }

    fn beta_place(&self, beta: &str) -> BetaPlace {
        own_beta_place(beta)
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_BASE_URL"
    }
}
