//! `fallback = ["bedrock:…", "local:…"]`: each entry becomes a model and an environment for the agent.
//!
//! An entry changes who is asked, so it also takes away what belongs to the first: no credential of one party is
//! left in the environment of an agent that asks another.

use model::{ProfileName, split_provider};
use runner::Fallback;

/// Where a local server is expected; Ollama's own address.
const LOCAL_BASE_URL: &str = "http://localhost:11434";
/// Local servers take any key, and the agent wants one.
const LOCAL_KEY: &str = "local";

/// The credentials of the first-party API.
const FIRST_PARTY: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"];

/// With it, settings files of the agent say nothing about the provider, its address and its credentials.
const BY_US: &str = "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST";
/// With it, they do not choose the provider, and still say how it is reached.
const CHOSEN_BY_US: &str = "RALPH_PROVIDER_CHOSEN_BY_LOOP";

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FallbackError {
    #[error("fallback: {0:?} names no model; write it as provider:model")]
    NoModel(String),
    #[error("fallback: {entry:?} needs {variable}, which is not set")]
    Missing { entry: String, variable: &'static str },
}

pub fn resolve(entries: &[String], lookup: &dyn Fn(&str) -> Option<String>) -> Result<Vec<Fallback>, FallbackError> {
    entries.iter().map(|entry| one(entry, lookup)).collect()
}

fn one(entry: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Fallback, FallbackError> {
    let (env, model) = match (endpoint(entry), split_provider(entry)) {
        (Some((profile, model)), _) => (endpoint_env(entry, profile, lookup)?, model),
        (None, (Some(choice), model)) => (provider_env(choice, lookup), model),
        // Another model of the same provider.
        (None, (None, model)) => (Vec::new(), model),
    };
    let model = model.trim();
    if model.is_empty() {
        return Err(FallbackError::NoModel(entry.to_owned()));
    }
    Ok(Fallback { name: entry.to_owned(), model: model.to_owned(), env })
}

/// The profile before the first colon, where it is one that has an address of its own.
fn endpoint(entry: &str) -> Option<(ProfileName, &str)> {
    let (name, model) = entry.split_once(':')?;
    let profile = ProfileName::read(name.trim())?;
    let own = matches!(profile, ProfileName::Local | ProfileName::OpenAiChat | ProfileName::OpenAiResponses);
    own.then_some((profile, model))
}

fn provider_env(choice: model::Choice, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, Option<String>)> {
    let mut env = switches(choice.switch());
    env.extend([("RALPH_ENDPOINT_PROFILE", None), (CHOSEN_BY_US, Some("1".to_owned()))]);
    let own = model::Choice::from_switches(&model::Variables::new(lookup));
    if own.name() != choice.name() {
        env.push(("ANTHROPIC_CUSTOM_HEADERS", None));
    }
    env
}

/// Every switch, of which only one may be on.
fn switches(on: Option<&'static str>) -> Vec<(&'static str, Option<String>)> {
    let value = |name: &'static str| (name, (Some(name) == on).then(|| "1".to_owned()));
    model::Choice::all_switches().map(value).collect()
}

fn endpoint_env(
    entry: &str,
    profile: ProfileName,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(&'static str, Option<String>)>, FallbackError> {
    let missing = |variable| FallbackError::Missing { entry: entry.to_owned(), variable };
    let (base, key, switches_of_profile) = if profile == ProfileName::Local {
        let base = lookup("RALPH_LOCAL_BASE_URL").unwrap_or_else(|| LOCAL_BASE_URL.to_owned());
        (base, lookup("RALPH_LOCAL_API_KEY").unwrap_or_else(|| LOCAL_KEY.to_owned()), lookup("RALPH_LOCAL_SWITCHES"))
    } else {
        let base = lookup("RALPH_OPENAI_BASE_URL").ok_or_else(|| missing("RALPH_OPENAI_BASE_URL"))?;
        let key = lookup("RALPH_OPENAI_API_KEY").ok_or_else(|| missing("RALPH_OPENAI_API_KEY"))?;
        (base, key, lookup("RALPH_OPENAI_SWITCHES"))
    };
    let name = profile.as_str();
    let profile = switches_of_profile.map_or_else(|| name.to_owned(), |more| format!("{name},{more}"));
    let mut env = switches(None);
    env.extend(FIRST_PARTY.iter().map(|name| (*name, None)));
    env.extend([
        ("RALPH_ENDPOINT_PROFILE", Some(profile)),
        ("ANTHROPIC_BASE_URL", Some(base)),
        ("ANTHROPIC_API_KEY", Some(key)),
        ("ANTHROPIC_SMALL_FAST_MODEL", None),
        (BY_US, Some("1".to_owned())),
    ]);
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entry: &str, variables: &[(&str, &str)]) -> Result<Fallback, FallbackError> {
        let lookup = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        resolve(&[entry.to_owned()], &lookup).map(|mut ways| ways.remove(0))
    }

    const GONE: &str = "(taken away)";

    /// The last word about a variable.
    fn says(way: &Fallback, name: &str) -> Option<String> {
        let (_, value) = way.env.iter().rev().find(|(known, _)| *known == name)?;
        Some(value.clone().unwrap_or_else(|| GONE.to_owned()))
    }

    #[test]
    fn an_entry_becomes_a_model_and_an_environment() {
        let bedrock = of("bedrock:us.anthropic.claude-x-v1:0", &[]).unwrap();
        assert_eq!(bedrock.model, "us.anthropic.claude-x-v1:0");
        assert_eq!(says(&bedrock, "CLAUDE_CODE_USE_BEDROCK"), Some("1".into()));
        assert_eq!(says(&bedrock, "CLAUDE_CODE_USE_VERTEX"), Some(GONE.into()));
        assert_eq!(says(&bedrock, "ANTHROPIC_CUSTOM_HEADERS"), Some(GONE.into()), "they are for the first");
        let again = of("bedrock:opus", &[("CLAUDE_CODE_USE_BEDROCK", "1")]).unwrap();
        assert_eq!(says(&again, "ANTHROPIC_CUSTOM_HEADERS"), None, "it is the same party");
        let first = of("anthropic:opus", &[]).unwrap();
        assert_eq!(says(&first, "CLAUDE_CODE_USE_BEDROCK"), Some(GONE.into()));
        let same = of("us.anthropic.claude-x-v1:0", &[]).unwrap();
        assert_eq!((same.model.as_str(), same.env.len()), ("us.anthropic.claude-x-v1:0", 0));
        assert_eq!(of("bedrock: ", &[]), Err(FallbackError::NoModel("bedrock: ".into())));
    }

    #[test]
    fn a_server_of_another_party_gets_no_credential_of_the_first() {
        let local = of("local:qwen:7b", &[("RALPH_LOCAL_SWITCHES", "contextWindow=32768")]).unwrap();
        assert_eq!(local.model, "qwen:7b");
        assert_eq!(says(&local, "ANTHROPIC_BASE_URL"), Some(LOCAL_BASE_URL.into()));
        assert_eq!(says(&local, "ANTHROPIC_API_KEY"), Some(LOCAL_KEY.into()));
        for name in ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"] {
            assert_eq!(says(&local, name), Some(GONE.into()), "{name}");
        }
        assert_eq!(says(&local, "RALPH_ENDPOINT_PROFILE"), Some("local,contextWindow=32768".into()));
        let missing = of("openai-chat:gpt", &[]).unwrap_err().to_string();
        assert!(missing.contains("RALPH_OPENAI_BASE_URL"), "{missing}");
        let openai = of("openai-chat:gpt", &[("RALPH_OPENAI_BASE_URL", "http://h/v1"), ("RALPH_OPENAI_API_KEY", "k")]);
        assert_eq!(says(&openai.unwrap(), "ANTHROPIC_API_KEY"), Some("k".into()));
    }
}
