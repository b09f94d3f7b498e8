//! What is special about an event, as questions; the table in `event` has the answers.

use crate::event::HookEvent;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Property {
    /// About one tool call: matchers and `if` rules speak of tools.
    Tool,
    /// A matcher means nothing here; a given one is ignored.
    NoMatcher,
    /// A refusal keeps what was about to happen from happening.
    Blocks,
    /// It has happened already; the model is told the reason of a refusal.
    Tells,
    /// The answer is a permission: allow, ask, defer or deny.
    Permits,
    /// A model may be asked to judge it, although a refusal alone decides nothing.
    Judged,
    /// Plain text on stdout is context for the model.
    PlainText,
    /// Comes before anything is set up, so no web address is asked.
    NoHttp,
    /// Hooks may leave variables for later shell commands.
    EnvFile,
    /// The stream always shows its hooks.
    AlwaysShown,
    /// The stream never shows its hooks.
    NeverShown,
    PromptTimeout,
    DisplayTimeout,
}

/// What a hook's "no" does at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What was about to happen does not.
    Blocks,
    /// It has happened already; the model is told the reason.
    Tells,
    /// Nothing; the reason is an error like any other.
    Nothing,
}

/// A prompt waits for its hooks, and a person for the prompt.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// Text on its way to a screen cannot wait longer.
const DISPLAY_TIMEOUT: Duration = Duration::from_secs(10);

impl HookEvent {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name)
    }

    fn has(self, property: Property) -> bool {
        self.properties().contains(&property)
    }

    /// Whether its frames belong in the stream; `asked`: the client wants hook events.
    pub fn is_shown(self, asked: bool) -> bool {
        self.has(Property::AlwaysShown) || (asked && !self.has(Property::NeverShown))
    }

    pub(crate) fn is_about_a_tool(self) -> bool {
        self.has(Property::Tool)
    }

    pub(crate) fn takes_matcher(self) -> bool {
        !self.has(Property::NoMatcher)
    }

    pub(crate) fn refusal(self) -> Refusal {
        if self.has(Property::Blocks) {
            Refusal::Blocks
        } else if self.has(Property::Tells) {
            Refusal::Tells
        } else {
            Refusal::Nothing
        }
    }

    pub(crate) fn permits(self) -> bool {
        self.has(Property::Permits)
    }

    pub(crate) fn hears_plain_text(self) -> bool {
        self.has(Property::PlainText)
    }

    pub(crate) fn takes_http(self) -> bool {
        !self.has(Property::NoHttp)
    }

    /// Whether a model may be asked for its opinion: only where an opinion decides something.
    pub(crate) fn takes_opinion(self) -> bool {
        self.refusal() != Refusal::Nothing || self.has(Property::Judged)
    }

    pub fn has_env_file(self) -> bool {
        self.has(Property::EnvFile)
    }

    /// The default time of a handler where the event has its own.
    pub(crate) fn own_timeout(self) -> Option<Duration> {
        if self.has(Property::PromptTimeout) {
            return Some(PROMPT_TIMEOUT);
        }
        self.has(Property::DisplayTimeout).then_some(DISPLAY_TIMEOUT)
    }
}
