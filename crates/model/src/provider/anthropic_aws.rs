//! Claude Platform on AWS: Anthropic's API with AWS's accounts.

use super::endpoint::{
    AuthPlan, BetaPlace, Endpoint, Operation, Provider, SmallQuestions, messages_path, own_beta_place,
};
use super::ids;
use super::variables::{SetupError, Variables};
use crate::secret::Secret;

const SERVICE: &str = "aws-external-anthropic";

#[derive(Debug)]
pub struct AnthropicAws;

impl Provider for AnthropicAws {
    fn name(&self) -> &'static str {
        "anthropicAws"
    }

    fn short_name(&self) -> &'static str {
        "anthropic-aws"
    }

    fn switch(&self) -> Option<&'static str> {
        Some("CLAUDE_CODE_USE_ANTHROPIC_AWS")
    }

    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError> {
        let name = "ANTHROPIC_AWS_WORKSPACE_ID";
        let workspace = variables.get(name).ok_or(SetupError::Missing(name))?;
        let region = variables.aws_region();
        let name = "ANTHROPIC_AWS_BASE_URL";
        let base = variables.url(name, &format!("https://{SERVICE}.{region}.api.aws"))?;
        Ok(Endpoint {
            is_custom_base: variables.get(name).is_some(),
            headers: vec![("anthropic-workspace-id", workspace)],
            region: Some(region.clone()),
            ..Endpoint::new(self, base, auth(variables, region))
        })
    }

    fn model_id(&self, asked: &ids::Asked, _: &Endpoint) -> String {
        asked.anthropic_aws_id()
    }

    fn small_questions(&self) -> SmallQuestions {
        SmallQuestions::Haiku
    }

    fn path(&self, _: &Endpoint, operation: Operation, _: &str) -> String {
        messages_path(operation)
    }

    fn beta_place(&self, beta: &str) -> BetaPlace {
        own_beta_place(beta)
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_AWS_BASE_URL"
    }
}

/// A key wins over signatures. A gateway gets its token in both headers.
fn auth(variables: &Variables, region: String) -> AuthPlan {
    if variables.is_on("CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH") {
        let token = variables.gateway_token();
        let both = token.map(|token| vec![("authorization", token.bearer()), ("x-api-key", token)]);
        return AuthPlan::Headers(both.unwrap_or_default());
    }
    match variables.get("ANTHROPIC_AWS_API_KEY") {
        Some(key) => AuthPlan::Headers(vec![("x-api-key", Secret::new(key))]),
        None => AuthPlan::SigV4 { service: SERVICE, region },
    }
}
