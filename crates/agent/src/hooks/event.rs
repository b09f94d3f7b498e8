//! The moments at which hooks run, and what is special about each.
//!
//! Named here but never happening: `MessageDisplay` (it changes what a screen shows, and there is none) and
//! `TeammateIdle` (there are no teams). Registering them is no error.

use std::time::Duration;

macro_rules! events {
    ($($name:ident),* $(,)?) => {
        /// Every event that clients and settings may name. Some never happen here; naming one is no error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum HookEvent { $($name),* }

        impl HookEvent {
            const ALL: &[Self] = &[$(Self::$name),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

events! {
    PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch, UserPromptSubmit, UserPromptExpansion,
    SessionStart, SessionEnd, Stop, StopFailure, SubagentStart, SubagentStop, PreCompact, PostCompact,
    Notification, PermissionRequest, PermissionDenied, Setup, PreModelSwitch, PostModelSwitch, TeammateIdle,
    TaskCreated, TaskCompleted, Elicitation, ElicitationResult, ConfigChange, WorktreeCreate, WorktreeRemove,
    InstructionsLoaded, CwdChanged, FileChanged, DirectoryAdded, MessageDisplay,
}

/// What a hook's "no" does at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
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
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name)
    }

    /// Whether its frames belong in the stream: the start of a session shows always, a few events never,
    /// the others where the client asked for hook events.
    pub fn is_shown(self, asked: bool) -> bool {
        match self {
            Self::SessionStart | Self::Setup => true,
            Self::Notification | Self::SessionEnd | Self::PreCompact | Self::PostCompact => false,
            _ => asked,
        }
    }

    /// About one tool call: matchers and `if` rules speak of tools.
    pub(super) fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::PermissionRequest
                | Self::PermissionDenied
        )
    }

    /// Whether a matcher means anything here; where not, a given one is ignored.
    pub(super) fn takes_matcher(self) -> bool {
        !matches!(
            self,
            Self::UserPromptSubmit
                | Self::PostToolBatch
                | Self::Stop
                | Self::TaskCreated
                | Self::TaskCompleted
                | Self::TeammateIdle
                | Self::WorktreeCreate
                | Self::WorktreeRemove
                | Self::CwdChanged
                | Self::MessageDisplay
        )
    }

    pub(super) fn refusal(self) -> Refusal {
        match self {
            Self::PreToolUse
            | Self::UserPromptSubmit
            | Self::UserPromptExpansion
            | Self::PostToolBatch
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact
            | Self::PreModelSwitch
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::TeammateIdle
            | Self::ConfigChange
            | Self::Elicitation
            | Self::ElicitationResult
            | Self::WorktreeCreate => Refusal::Blocks,
            Self::PostToolUse | Self::PostToolUseFailure => Refusal::Tells,
            _ => Refusal::Nothing,
        }
    }

    /// Whether its answer is a permission: allow, ask, defer or deny.
    pub(super) fn permits(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PreModelSwitch)
    }

    /// Whether plain text on stdout is context for the model.
    pub(super) fn hears_plain_text(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit | Self::UserPromptExpansion)
    }

    /// Whether a web address may be asked: the first events come before anything is set up.
    pub(super) fn takes_http(self) -> bool {
        !matches!(self, Self::SessionStart | Self::Setup)
    }

    /// Whether a model may be asked for its opinion: only where an opinion decides something.
    pub(super) fn takes_opinion(self) -> bool {
        self.refusal() != Refusal::Nothing || self == Self::PermissionRequest
    }

    /// Whether hooks may leave variables for later shell commands.
    pub fn has_env_file(self) -> bool {
        matches!(self, Self::SessionStart | Self::Setup | Self::CwdChanged | Self::FileChanged)
    }

    /// The default time of a handler where the event has its own.
    pub(super) fn own_timeout(self) -> Option<Duration> {
        match self {
            Self::UserPromptSubmit => Some(PROMPT_TIMEOUT),
            Self::MessageDisplay => Some(DISPLAY_TIMEOUT),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_unknown_ones_are_nothing() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::parse(event.as_str()), Some(*event));
        }
        for unknown in ["", "pretooluse", "PreToolUse ", "NotYetInvented"] {
            assert_eq!(HookEvent::parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn frames_show_where_clients_expect_them() {
        for (event, unasked, asked) in [
            (HookEvent::SessionStart, true, true),
            (HookEvent::Setup, true, true),
            (HookEvent::PreToolUse, false, true),
            (HookEvent::SessionEnd, false, false),
            (HookEvent::PreCompact, false, false),
        ] {
            assert_eq!((event.is_shown(false), event.is_shown(true)), (unasked, asked), "{event:?}");
        }
    }
}
