//! How a command of this binary fails: one type, one line on stderr, one documented exit code.
//!
//! Deliberately absent: a failure without words. What is no failure (a person was shown what to do next, a report
//! found problems) is an exit code.

use resolve::Refusal;
use wire::ExitCode;

/// What a command comes to.
pub type Ended = Result<ExitCode, Failure>;

/// What failed, as scripts can tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The words that were typed fit no form of the command; the line shows the forms.
    Form,
    /// A word or an option that was typed is wrong.
    Usage,
    /// A configuration file, the settings or trust do not allow it.
    Settings,
    /// The command was right, and what it does did not work.
    Failed,
    /// A command of the agent. Clients know its words, so the source is the whole line.
    Agent,
}

impl FailureKind {
    pub fn exit(self) -> ExitCode {
        match self {
            Self::Form | Self::Usage | Self::Settings | Self::Failed | Self::Agent => ExitCode::Failure,
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Form | Self::Agent => "",
            Self::Usage | Self::Settings | Self::Failed => "error: ",
        }
    }
}

type Source = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub source: Source,
    /// What to do next.
    pub hint: Option<String>,
}

impl Failure {
    fn new(kind: FailureKind, source: impl Into<Source>) -> Self {
        Self { kind, source: source.into(), hint: None }
    }

    pub fn form(text: &str) -> Self {
        Self::new(FailureKind::Form, text)
    }

    pub fn usage(source: impl Into<Source>) -> Self {
        Self::new(FailureKind::Usage, source)
    }

    pub fn settings(source: impl Into<Source>) -> Self {
        Self::new(FailureKind::Settings, source)
    }

    pub fn failed(source: impl Into<Source>) -> Self {
        Self::new(FailureKind::Failed, source)
    }

    pub fn agent(source: impl Into<Source>) -> Self {
        Self::new(FailureKind::Agent, source)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The sentence without what it begins with, for a message around it.
    pub fn reason(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}. {hint}", self.source),
            None => self.source.to_string(),
        }
    }

    /// What stderr gets.
    pub fn line(&self) -> String {
        format!("{}{}", self.kind.prefix(), self.reason())
    }
}

/// An error of a command of the agent, in the words that clients know.
pub fn agent_error(error: impl std::fmt::Display) -> Failure {
    Failure::agent(format!("Error: {error}"))
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::agent(refusal)
    }
}

impl From<resolve::plugin_fetch::PluginFetchError> for Failure {
    fn from(error: resolve::plugin_fetch::PluginFetchError) -> Self {
        agent_error(error)
    }
}

impl From<goals::GoalError> for Failure {
    fn from(error: goals::GoalError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::failed(error) }
    }
}

impl From<runner::SettingsError> for Failure {
    fn from(error: runner::SettingsError) -> Self {
        let hint = error.hint();
        Self { hint, ..Self::settings(error) }
    }
}

impl From<goals::make::MakeError> for Failure {
    fn from(error: goals::make::MakeError) -> Self {
        match error {
            goals::make::MakeError::Goal(error) => error.into(),
            other => Self::usage(other),
        }
    }
}

impl From<goals::command_line::GoalUsageError> for Failure {
    fn from(error: goals::command_line::GoalUsageError) -> Self {
        match error {
            goals::command_line::GoalUsageError::Form(text) => Self::form(&text),
            other => Self::usage(other),
        }
    }
}

/// The kind of each error that needs nothing else.
macro_rules! kinds {
    ($($error:ty: $kind:ident,)+) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(FailureKind::$kind, error)
            }
        })+
    };
}

kinds! {
    arguments::UsageError: Agent,
    arguments::loop_flags::LoopFlagError: Usage,
    serve::command_line::ServeUsageError: Usage,
    settings::SettingsError: Settings,
    resolve::RuntimeError: Failed,
    runner::BackendError: Settings,
    runner::RunsError: Failed,
    runner::LockError: Failed,
    runner::RunError: Failed,
    runner::run_socket::SocketError: Failed,
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
