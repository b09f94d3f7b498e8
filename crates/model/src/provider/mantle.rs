//! Amazon Bedrock's Mantle API: the Messages API behind AWS signatures.

use super::endpoint::{Endpoint, SetupError, Variables, messages_path};
use super::{Operation, Provider, bedrock, ids};

pub const SWITCH: &str = "CLAUDE_CODE_USE_MANTLE";

/// `anthropic.claude-…` without a version behind it: the form of Mantle's own ids. Bedrock's have a prefix or a version.
pub(super) fn is_own_id(model: &str) -> bool {
    let Some(name) = model.strip_prefix("anthropic.claude-") else { return false };
    let is_versioned = name.contains(':') || name.ends_with("-v1") || name.ends_with("-v2");
    !is_versioned
}

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
        let auth = bedrock::aws_auth(variables, "CLAUDE_CODE_SKIP_MANTLE_AUTH", "bedrock-mantle", &region);
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
}
