//! `CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST`: whoever started us chooses the provider, and no settings file changes that.
//!
//! A loop that goes on with another provider sets it: an `env` block of the user's settings would otherwise send the
//! conversation back to the first one, or the first one's credential to the other. What the administrator says stays.

use crate::environment::Environment;
use serde_json::Value;
use settings::Settings;

pub const SWITCH: &str = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST";

/// Who is asked, where, and with which credential.
const STARTS: [&str; 10] = [
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "CLAUDE_CODE_USE_",
    "CLAUDE_CODE_SKIP_",
    "CLOUD_ML_",
    "GCLOUD_",
    "GOOGLE_",
    "IDENTITY_",
    "VERTEX_",
];
const NAMES: [&str; 4] =
    ["CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "RALPH_ENDPOINT_PROFILE", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN"];

fn chooses_provider(name: &str) -> bool {
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

/// Takes out of the settings what a host has the say in.
pub fn apply(settings: &mut Settings, environment: &Environment) {
    if !environment.is_on(SWITCH) {
        return;
    }
    let managed = settings.managed.get("env").and_then(Value::as_object);
    let is_managed = |name: &str| managed.is_some_and(|env| env.contains_key(name));
    settings.env.retain(|(name, _)| !chooses_provider(name) || is_managed(name));
    settings.api_key_helper = None;
}

#[cfg(test)]
mod tests {
    use super::chooses_provider;

    #[test]
    fn what_chooses_a_provider_is_known() {
        for name in
            ["CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "AWS_PROFILE", "CLOUD_ML_REGION"]
        {
            assert!(chooses_provider(name), "{name}");
        }
        for name in ["PATH", "MAX_THINKING_TOKENS", "CLAUDE_CODE_MAX_TURNS", "HTTPS_PROXY"] {
            assert!(!chooses_provider(name), "{name}");
        }
    }
}
