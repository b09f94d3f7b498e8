//! Microsoft Foundry: the Messages API behind Azure's resources, keys and tokens.

use super::endpoint::{AuthPlan, BetaPlace, Endpoint, EntraPlan, Operation, Provider, messages_path};
use super::ids;
use super::variables::{SetupError, Variables};
use crate::secret::Secret;

const TOKEN_RESOURCE: &str = "https://cognitiveservices.azure.com";

#[derive(Debug)]
pub struct Foundry;

impl Provider for Foundry {
    fn name(&self) -> &'static str {
        "foundry"
    }

    fn short_name(&self) -> &'static str {
        "foundry"
    }

    fn switch(&self) -> Option<&'static str> {
        Some("CLAUDE_CODE_USE_FOUNDRY")
    }

    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError> {
        let name = "ANTHROPIC_FOUNDRY_BASE_URL";
        let (resource, base) = (variables.get("ANTHROPIC_FOUNDRY_RESOURCE"), variables.get(name));
        let default = match (&resource, &base) {
            (Some(_), Some(_)) => return Err(SetupError::TwoResources),
            (None, None) => return Err(SetupError::NoResource),
            (Some(resource), None) if !is_resource(resource) => return Err(SetupError::BadResource),
            (Some(resource), None) => format!("https://{resource}.services.ai.azure.com/anthropic"),
            (None, Some(_)) => String::new(),
        };
        let base = variables.url(name, &default)?;
        Ok(Endpoint { is_custom_base: resource.is_none(), ..Endpoint::new(self, base, auth(variables)) })
    }

    fn model_id(&self, asked: &ids::Asked, _: &Endpoint) -> String {
        asked.foundry_id()
    }

    fn path(&self, _: &Endpoint, operation: Operation, _: &str) -> String {
        messages_path(operation)
    }

    fn beta_place(&self, _beta: &str) -> BetaPlace {
        BetaPlace::Header
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_FOUNDRY_BASE_URL"
    }
}

/// Token, key, then Entra.
fn auth(variables: &Variables) -> AuthPlan {
    if variables.is_on("CLAUDE_CODE_SKIP_FOUNDRY_AUTH") {
        return AuthPlan::gateway(variables);
    }
    if let Some(token) = variables.get("ANTHROPIC_FOUNDRY_AUTH_TOKEN") {
        return AuthPlan::Headers(vec![("authorization", Secret::new(token).bearer())]);
    }
    match variables.get("ANTHROPIC_FOUNDRY_API_KEY") {
        Some(key) => AuthPlan::Headers(vec![("x-api-key", Secret::new(key))]),
        None => AuthPlan::Entra(EntraPlan { resource: TOKEN_RESOURCE }),
    }
}

fn is_resource(name: &str) -> bool {
    (2..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
