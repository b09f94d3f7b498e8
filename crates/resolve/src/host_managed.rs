//! `CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST`: whoever started us chooses the provider, and no settings file changes that.
//!
//! A loop that goes on with another provider sets it: an `env` block of the user's settings would otherwise send the
//! conversation back to the first one, or the first one's credential to the other. What the administrator says stays.

use crate::environment::Environment;
use serde_json::Value;
use settings::Settings;

const SWITCH: &str = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST";

/// A loop's own word: it has chosen the provider, and the settings still say how that one is reached.
const CHOSEN_BY_LOOP: &str = "RALPH_PROVIDER_CHOSEN_BY_LOOP";

/// How much of the settings does not count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Nothing,
    /// Which provider.
    Choice,
    /// Which provider, its address and its credentials.
    Everything,
}

fn ignored(environment: &Environment) -> Ignored {
    match (environment.is_on(SWITCH), environment.is_on(CHOSEN_BY_LOOP)) {
        (true, _) => Ignored::Everything,
        (false, true) => Ignored::Choice,
        (false, false) => Ignored::Nothing,
    }
}

/// Whether the profile of the settings counts.
pub fn takes_profile(environment: &Environment) -> bool {
    ignored(environment) == Ignored::Nothing
}

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

fn does_not_count(name: &str, ignored: Ignored) -> bool {
    match ignored {
        Ignored::Nothing => false,
        Ignored::Choice => name.starts_with("CLAUDE_CODE_USE_") || name == "RALPH_ENDPOINT_PROFILE",
        Ignored::Everything => NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start)),
    }
}

/// Takes out of the settings what a host has the say in.
pub fn apply(settings: &mut Settings, environment: &Environment) {
    let ignored = ignored(environment);
    if ignored == Ignored::Nothing {
        return;
    }
    let managed = settings.managed.get("env").and_then(Value::as_object);
    let is_managed = |name: &str| managed.is_some_and(|env| env.contains_key(name));
    settings.env.retain(|(name, _)| !does_not_count(name, ignored) || is_managed(name));
    if ignored == Ignored::Everything {
        settings.api_key_helper = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{Ignored, does_not_count};

    #[test]
    fn what_chooses_a_provider_is_known() {
        for (name, choice, everything) in [
            ("CLAUDE_CODE_USE_BEDROCK", true, true),
            ("RALPH_ENDPOINT_PROFILE", true, true),
            ("ANTHROPIC_BASE_URL", false, true),
            ("ANTHROPIC_API_KEY", false, true),
            ("AWS_PROFILE", false, true),
            ("CLOUD_ML_REGION", false, true),
            ("PATH", false, false),
            ("MAX_THINKING_TOKENS", false, false),
            ("HTTPS_PROXY", false, false),
        ] {
            let got = (does_not_count(name, Ignored::Choice), does_not_count(name, Ignored::Everything));
            assert_eq!((got, does_not_count(name, Ignored::Nothing)), ((choice, everything), false), "{name}");
        }
    }
}
