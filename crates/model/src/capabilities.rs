//! What the user says that a model can do, for ids that no list knows: `ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES`
//! and its sisters. Pure.
//!
//! What that means for a request: `ModelInfo::take`. A list that is there is the whole truth about that model: what it does not name the model does not have.

/// Efforts that every model with efforts has.
const EFFORTS: [&str; 3] = ["low", "medium", "high"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    effort: bool,
    xhigh: bool,
    max: bool,
    pub(crate) thinking: bool,
    pub(crate) adaptive: bool,
    pub(crate) interleaved: bool,
}

/// The lists, by the id of the model that each is about.
#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    listed: Vec<(String, Known)>,
    /// `CLAUDE_CODE_ALWAYS_ENABLE_EFFORT`.
    pub always_effort: bool,
    /// `modelOverrides` read backwards: a provider's id, and the model of Anthropic's that it stands for.
    pub stand_for: Vec<(String, String)>,
}

/// A word that names no capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{word:?} is no capability; known are effort, xhigh_effort, max_effort, thinking, adaptive_thinking and \
     interleaved_thinking"
)]
pub struct CapabilityError {
    word: String,
}

impl Capabilities {
    /// Adds what the words of a list say about a model.
    pub fn add(&mut self, id: &str, list: &str) -> Result<(), CapabilityError> {
        let mut known = Known::default();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "effort" => known.effort = true,
                "xhigh_effort" => known.xhigh = true,
                "max_effort" => known.max = true,
                "thinking" => known.thinking = true,
                "adaptive_thinking" => known.adaptive = true,
                "interleaved_thinking" => known.interleaved = true,
                other => return Err(CapabilityError { word: other.to_owned() }),
            }
        }
        self.listed.push((id.to_owned(), known));
        Ok(())
    }

    /// The model that the user says an id stands for.
    pub(crate) fn model_behind(&self, id: &str) -> Option<String> {
        self.stand_for.iter().find(|(known, _)| known == id).map(|(_, model)| model.clone())
    }

    /// What was said about a model.
    pub(crate) fn of(&self, id: &str) -> Option<Known> {
        self.listed.iter().find(|(known, _)| known == id).map(|(_, known)| *known)
    }
}

impl Known {
    pub(crate) fn effort_levels(self) -> Vec<String> {
        if !(self.effort || self.xhigh || self.max) {
            return Vec::new();
        }
        let more = [(self.xhigh, "xhigh"), (self.max, "max")];
        let more = more.into_iter().filter(|(has, _)| *has).map(|(_, level)| level);
        EFFORTS.into_iter().chain(more).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelInfo, ThinkingKind, info};

    fn told(id: &str, list: &str) -> ModelInfo {
        let mut capabilities = Capabilities::default();
        capabilities.add(id, list).unwrap();
        let mut found = info(id);
        found.take(&capabilities);
        found
    }

    #[test]
    fn a_list_is_the_whole_truth_about_its_model() {
        for (list, thinking, levels, default) in [
            ("", ThinkingKind::None, 0, None),
            ("thinking", ThinkingKind::Budget, 0, None),
            ("effort,adaptive_thinking", ThinkingKind::Adaptive, 3, Some("high")),
            ("effort, max_effort ,thinking", ThinkingKind::Budget, 4, Some("high")),
        ] {
            let found = told("my-own-model", list);
            let got = (found.thinking, found.effort_levels.len(), found.default_effort.as_deref());
            assert_eq!(got, (thinking, levels, default), "{list}");
        }
        let mut others = Capabilities::default();
        others.add("another", "").unwrap();
        let (mut found, before) = (info("my-own-model"), info("my-own-model"));
        found.take(&others);
        assert_eq!(found, before);
        assert!(others.add("x", "flying").unwrap_err().to_string().contains("flying"));
    }

    #[test]
    fn effort_for_models_that_nobody_knows_is_an_option() {
        let always = Capabilities { always_effort: true, ..Capabilities::default() };
        let mut unknown = info("my-own-model");
        assert_eq!(unknown.default_effort, None);
        unknown.take(&always);
        assert_eq!(unknown.default_effort.as_deref(), Some("high"));
        let mut old = info("claude-sonnet-4-5");
        old.take(&always);
        assert_eq!(old.default_effort, None, "a known model without efforts gets none");
    }
}
