//! The authorisation of requests to Amazon's two APIs.

use super::endpoint::AuthPlan;
use super::variables::Variables;
use crate::secret::Secret;

/// A bearer key, nothing (with the gateway's token), or signatures.
pub(super) fn aws_auth(variables: &Variables, skip: &str, service: &'static str, region: &str) -> AuthPlan {
    if variables.is_on(skip) {
        return AuthPlan::gateway(variables);
    }
    match variables.get("AWS_BEARER_TOKEN_BEDROCK") {
        Some(token) => AuthPlan::Headers(vec![("authorization", Secret::new(token).bearer())]),
        None => AuthPlan::SigV4 { service, region: region.to_owned() },
    }
}
