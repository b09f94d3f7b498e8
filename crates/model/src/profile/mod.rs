//! Profiles of endpoints: named sets of features that a request uses or leaves out.
//!
//! A profile is chosen by configuration (`RALPH_ENDPOINT_PROFILE`, setting `endpointProfile`), never by looking at an
//! address or by probing. Everything here is pure. Deliberately absent: the translation to OpenAI's formats (`openai`)
//! and the clouds (`provider`), which have rules of their own.

mod messages;
mod names;
mod parse;
mod suggest;

pub(crate) use messages::{joined_text, shape, simplify_schema};
pub use names::{Feature, Format, ProfileName};
pub use parse::{ProfileError, parse_profile};
pub use suggest::suggest_profile;

use std::time::Duration;

/// A local server reads a long prompt in silence before its first byte.
const LOCAL_IDLE: Duration = Duration::from_mins(15);
/// Answers of a local model are capped here, or at a quarter of its context where that is less.
const LOCAL_MAX_TOKENS: u64 = 8192;

/// How thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingRule {
    /// As the model wants it.
    ByModel,
    /// Only with a fixed budget; adaptive thinking is left out.
    Budget,
    Off,
}

/// Which words for effort are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortRule {
    ByModel,
    /// `low`, `medium`, `high`; higher words become `high`.
    ThreeLevels,
    Off,
}

/// Which model answers small questions where the user names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallModel {
    Haiku,
    /// The server has one model loaded.
    Main,
}

/// What an endpoint understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub name: ProfileName,
    features: u16,
    pub thinking: ThinkingRule,
    pub effort: EffortRule,
    pub small_model: SmallModel,
    max_tokens: Option<u64>,
    /// The context of the model that is loaded, where the user says it.
    pub context_window: Option<u64>,
    pub idle_timeout: Option<Duration>,
    /// Requests at a time that the server has room for.
    pub concurrency: Option<usize>,
    /// `max_tokens` or `max_completion_tokens` (chat only).
    pub(crate) max_tokens_field: &'static str,
    /// `system` or `developer` (chat only).
    pub(crate) system_role: &'static str,
}

impl Profile {
    pub fn named(name: ProfileName) -> Self {
        let everything = Self {
            name,
            features: u16::MAX,
            thinking: ThinkingRule::ByModel,
            effort: EffortRule::ByModel,
            small_model: SmallModel::Haiku,
            max_tokens: None,
            context_window: None,
            idle_timeout: None,
            concurrency: None,
            max_tokens_field: "max_completion_tokens",
            system_role: "system",
        };
        match name {
            ProfileName::Anthropic => everything,
            // Many have one model, under a name of their own.
            ProfileName::Gateway => Self { small_model: SmallModel::Main, ..everything },
            ProfileName::Local => Self {
                // All four servers join the blocks themselves.
                features: Feature::SystemBlocks.bit(),
                thinking: ThinkingRule::Off,
                effort: EffortRule::Off,
                small_model: SmallModel::Main,
                max_tokens: Some(LOCAL_MAX_TOKENS),
                idle_timeout: Some(LOCAL_IDLE),
                concurrency: Some(1),
                ..everything
            },
            ProfileName::OpenAiChat | ProfileName::OpenAiResponses => {
                let mut profile = Self { features: 0, small_model: SmallModel::Main, ..everything };
                for feature in [Feature::ToolChoice, Feature::ImageLinks, Feature::FullSchemas] {
                    profile.set(feature, true);
                }
                profile.set(Feature::ReplayThinking, name == ProfileName::OpenAiResponses);
                profile
            }
        }
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.features & feature.bit() != 0
    }

    pub(crate) fn set(&mut self, feature: Feature, on: bool) {
        if on {
            self.features |= feature.bit();
        } else {
            self.features &= !feature.bit();
        }
    }

    pub(crate) fn set_max_tokens(&mut self, tokens: u64) {
        self.max_tokens = Some(tokens);
    }

    pub fn format(&self) -> Format {
        match self.name {
            ProfileName::OpenAiChat => Format::ChatCompletions,
            ProfileName::OpenAiResponses => Format::Responses,
            ProfileName::Anthropic | ProfileName::Gateway | ProfileName::Local => Format::Messages,
        }
    }

    /// The longest answer to ask for.
    pub(crate) fn capped(&self, max_tokens: u64) -> u64 {
        let Some(most) = self.max_tokens else { return max_tokens };
        let quarter = self.context_window.map_or(u64::MAX, |window| (window / 4).max(1));
        max_tokens.min(most).min(quarter)
    }

    /// Whether requests leave as the Messages API has them, so that no second copy of the body is needed.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.name, ProfileName::Anthropic | ProfileName::Gateway) && *self == Self::named(self.name)
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::named(ProfileName::Anthropic)
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
