//! Amazon Bedrock's Mantle API: the Messages API behind AWS signatures.

use super::aws_auth::aws_auth;
use super::endpoint::{BetaPlace, Endpoint, Operation, Provider, messages_path};
use super::ids;
use super::variables::{SetupError, Variables};
use crate::request::{LONG_CACHE_BETA, WEB_SEARCH_BETA};

pub const SWITCH: &str = "CLAUDE_CODE_USE_MANTLE";

#[derive(Debug)]
pub struct Mantle;

impl Provider for Mantle {
    fn name(&self) -> &'static str {
        "mantle"
    }

    fn short_name(&self) -> &'static str {
        "mantle"
    }

    fn switch(&self) -> Option<&'static str> {
        Some(SWITCH)
    }

    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError> {
        let region = variables.aws_region();
        let name = "ANTHROPIC_BEDROCK_MANTLE_BASE_URL";
        let base = variables.url(name, &format!("https://bedrock-mantle.{region}.api.aws/anthropic"))?;
        let auth = aws_auth(variables, "CLAUDE_CODE_SKIP_MANTLE_AUTH", "bedrock-mantle", &region);
        Ok(Endpoint {
            is_custom_base: variables.get(name).is_some(),
            region: Some(region),
            ..Endpoint::new(self, base, auth)
        })
    }

    fn model_id(&self, asked: &ids::Asked, _: &Endpoint) -> String {
        asked.mantle_id()
    }

    fn path(&self, _: &Endpoint, operation: Operation, _: &str) -> String {
        messages_path(operation)
    }

    fn beta_place(&self, beta: &str) -> BetaPlace {
        let is_left_out = [LONG_CACHE_BETA, WEB_SEARCH_BETA].contains(&beta);
        if is_left_out { BetaPlace::Nowhere } else { BetaPlace::Header }
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"
    }
}
