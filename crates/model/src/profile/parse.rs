//! A profile as the user writes it: `local`, or `local,effort=on,maxTokens=4096`.

use super::{EffortRule, Feature, Profile, ProfileName, SmallModel, ThinkingRule};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("'{0}' is no profile; it is one of anthropic, gateway, local, openai-chat, openai-responses")]
    Name(String),
    #[error("'{0}' is no switch of a profile; docs/providers.md lists them")]
    Switch(String),
    #[error("the switch {name} is '{value}'; it takes {takes}")]
    Value { name: String, value: String, takes: &'static str },
}

/// Reads a name and the switches behind it.
pub fn parse_profile(text: &str) -> Result<Profile, ProfileError> {
    let mut parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let name = parts.next().unwrap_or_default();
    let name = ProfileName::read(name).ok_or_else(|| ProfileError::Name(name.to_owned()))?;
    let mut profile = Profile::named(name);
    for part in parts {
        let (switch, value) = part.split_once('=').ok_or_else(|| ProfileError::Switch(part.to_owned()))?;
        set(&mut profile, switch.trim(), value.trim())?;
    }
    Ok(profile)
}

fn set(profile: &mut Profile, switch: &str, value: &str) -> Result<(), ProfileError> {
    let wrong = |takes| ProfileError::Value { name: switch.to_owned(), value: value.to_owned(), takes };
    if let Some((_, feature)) = Feature::ALL.iter().find(|(name, _)| *name == switch) {
        profile.set(*feature, on_or_off(value).ok_or_else(|| wrong("on or off"))?);
        return Ok(());
    }
    let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(|| wrong("a number above zero"));
    match switch {
        "thinking" => {
            profile.thinking = match value {
                "model" => ThinkingRule::ByModel,
                "budget" => ThinkingRule::Budget,
                "off" => ThinkingRule::Off,
                _ => return Err(wrong("model, budget or off")),
            }
        }
        "effort" => {
            profile.effort = match value {
                "model" => EffortRule::ByModel,
                "on" => EffortRule::ThreeLevels,
                "off" => EffortRule::Off,
                _ => return Err(wrong("model, on or off")),
            }
        }
        "smallModel" => {
            profile.small_model = match value {
                "haiku" => SmallModel::Haiku,
                "main" => SmallModel::Main,
                _ => return Err(wrong("haiku or main")),
            }
        }
        "maxTokens" => profile.set_max_tokens(number()?),
        "contextWindow" => profile.context_window = Some(number()?),
        "idleTimeout" => profile.idle_timeout = Some(Duration::from_secs(number()?)),
        "concurrency" => profile.concurrency = usize::try_from(number()?).ok(),
        "maxTokensField" => {
            profile.max_tokens_field = match value {
                "max_tokens" => "max_tokens",
                "max_completion_tokens" => "max_completion_tokens",
                _ => return Err(wrong("max_tokens or max_completion_tokens")),
            }
        }
        "systemRole" => {
            profile.system_role = match value {
                "system" => "system",
                "developer" => "developer",
                _ => return Err(wrong("system or developer")),
            }
        }
        _ => return Err(ProfileError::Switch(switch.to_owned())),
    }
    Ok(())
}

fn on_or_off(value: &str) -> Option<bool> {
    match value {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}
