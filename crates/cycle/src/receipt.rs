//! The receipt of one iteration: changes, obstacles, evidence, cost.

use serde::{Deserialize, Serialize};

/// Token counts. Sums saturate: a hostile count cannot wrap around.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// What came on top of `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
        }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

impl From<&wire::Usage> for Tokens {
    fn from(usage: &wire::Usage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    pub outcome: IterationOutcome,
    /// The agent's own words on what it did.
    pub summary: String,
    pub changed: Changes,
    /// What is in the way: a failed check, an error, a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<String>,
    /// Why the agent's claim to be done was not believed, where no check decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedClaim>,
    /// What supports the outcome: checks and their results, commits.
    pub evidence: Vec<String>,
    pub cost_usd: f64,
    pub tokens: Tokens,
    pub duration_ms: u64,
    pub tool_calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Why a claim to be done is not believed although no check disagrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RefusedClaim {
    /// These items of the todo list, or issues, are open.
    OpenItems { items: Vec<String> },
    /// Nothing has changed in the whole run.
    NothingChanged,
}

/// How a check that passed begins in a receipt's evidence.
pub(crate) const PASSED: &str = "passed:";

impl Receipt {
    /// Whether anything but the agent's word supports it.
    pub fn is_checked(&self) -> bool {
        self.evidence.iter().any(|words| words.starts_with(PASSED))
    }
}

/// What git sees. Empty, with `known` unset, where there is no repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    pub known: bool,
    /// At most [`Changes::FILES_MAX`], sorted by path.
    pub files: Vec<FileChange>,
    /// Files beyond those listed.
    pub more_files: u64,
    /// Commits made, newest first, as `hash subject`.
    pub commits: Vec<String>,
}

impl Changes {
    /// A receipt is to be read; who needs more asks git.
    pub const FILES_MAX: usize = 50;

    pub fn any(&self) -> bool {
        !self.files.is_empty() || !self.commits.is_empty()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    pub path: String,
    pub added: u64,
    pub removed: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IterationOutcome {
    /// Something changed, or the agent said something new.
    #[default]
    Progress,
    /// Nothing changed.
    NoProgress,
    /// Claimed done, and the checks agreed.
    Done,
    /// Claimed done, but a check disagreed, work is open, or nothing has changed.
    NotDone,
    /// Waits for a person.
    Blocked,
    /// The agent failed.
    Failed { failure: IterationFailure },
    /// Did not count: a usage limit, or an API that is unreachable or overloaded. The same iteration starts again.
    Deferred,
    /// A person stopped it.
    Interrupted,
    /// A limit of the run stopped it.
    Cut,
}

/// How an agent can fail, told apart because each has its own policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationFailure {
    /// It could not be started.
    Start,
    /// It said that the turn was an error.
    ErrorResult,
    /// It ended well, but without a result.
    NoResult,
    /// It ended with a code other than zero.
    ExitCode,
    /// A signal ended it.
    Signal,
    /// It wrote more than any agent has reason to.
    Flood,
    /// It was silent until the idle deadline.
    Silence,
    /// It ran into the iteration's own limit of time or cost.
    Overrun,
    /// It never gave the structured result asked for.
    Unstructured,
    /// Its credentials were refused: trying again cannot help.
    Credentials,
}

impl IterationFailure {
    pub fn words(self) -> &'static str {
        match self {
            Self::Start => "the agent could not be started",
            Self::ErrorResult => "the agent reported an error",
            Self::NoResult => "the agent ended without a result",
            Self::ExitCode => "the agent ended with an error code",
            Self::Signal => "the agent was killed by a signal",
            Self::Flood => "the agent wrote without end and was stopped",
            Self::Silence => "the agent fell silent and was stopped",
            Self::Overrun => "the agent ran into the iteration's limit and was stopped",
            Self::Unstructured => "the agent never gave its result in the form asked for",
            Self::Credentials => "the agent's credentials were refused",
        }
    }
}
