//! The errors of goals, with hints.

use crate::goal::{Fence, GoalId};
use crate::machine::NotPossible;

#[derive(Debug, thiserror::Error)]
pub enum GoalError {
    #[error("there is no goal {0}")]
    UnknownGoal(GoalId),
    #[error("goal {goal}: {source}")]
    NotPossible { goal: GoalId, source: NotPossible },
    /// Another worker has the goal. The receiver of this error stops at once.
    #[error("goal {goal} belongs to another worker: claim {fence} is over")]
    LeaseLost { goal: GoalId, fence: Fence },
    #[error("goal {goal} would have to be done before itself: {path}")]
    Circle { goal: GoalId, path: String },
    #[error("the store {store} cannot be reached: {why}")]
    Unreachable { store: String, why: String },
    #[error("the store {store} refused the user or the password")]
    Denied { store: String },
    #[error("the store {store} has schema {found}, and this program knows {known}")]
    TooNew { store: String, found: i64, known: i64 },
    #[error("the store {store}: {why}")]
    Store { store: String, why: String },
    #[error("the store {store} is busy: {why}")]
    Busy { store: String, why: String },
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    #[error("{repo} cannot be cloned: {why}")]
    Repository { repo: String, why: String },
    #[error("{repo} has no branch '{base}'")]
    BaseGone { repo: String, base: String },
    #[error("the work on goal {goal} is not in {repo} any more: {name} is gone")]
    WorkGone { goal: GoalId, repo: String, name: String },
    #[error("git {what} failed: {why}")]
    Git { what: &'static str, why: String },
    #[error("{} cannot be {verb}: {source}", path.display())]
    File { path: std::path::PathBuf, verb: &'static str, source: std::io::Error },
    #[error("{file}: {error}")]
    Import { file: String, error: ImportError },
    #[error("{0}")]
    Start(String),
}

/// Why a list cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("no JSON: {0}")]
    NoJson(serde_json::Error),
    #[error("line {0} is no JSON: {1}")]
    Line(usize, serde_json::Error),
    #[error("it has no list 'userStories'")]
    NoStories,
    #[error("issue {0} would have to be done before itself")]
    Circle(String),
    #[error("nothing to import: no open checkbox, no heading, no open story or issue in it")]
    Nothing,
    #[error("more than 10000 entries")]
    TooMany,
}

/// A budget that has not enough left for an iteration, by its scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the budget '{0}' has not enough left")]
pub struct Exhausted(pub String);

impl GoalError {
    /// What a person can do next.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::UnknownGoal(_) => "'ralph goal list --all' shows the goals.",
            Self::NotPossible { .. } => "'ralph goal show N' says where it stands.",
            Self::LeaseLost { .. } => "Nothing has to be done: the other worker goes on with it.",
            Self::Circle { .. } => "Leave one of the dependencies out.",
            Self::Unreachable { .. } => "Is the server up, and RALPH_STORE right? Then try again.",
            Self::Denied { .. } => "Check user and password in RALPH_STORE.",
            Self::TooNew { .. } => "Install the newest ralph on this machine.",
            Self::Store { .. } => "Is the disk full, or the folder not writable?",
            Self::Busy { .. } => "A stopped process goes on with 'kill -CONT', or ends with 'kill -KILL'.",
            Self::Corrupt(_) => "Was it written by another program?",
            Self::Repository { .. } => {
                "Check the address, and that this machine may read it without a password prompt."
            }
            Self::BaseGone { .. } => "Name another branch with 'ralph goal edit N --base BRANCH'.",
            Self::WorkGone { .. } => "Add the goal again with 'ralph goal add'.",
            Self::Git { .. } | Self::File { .. } => "Then try again with 'ralph goal retry N'.",
            Self::Import { .. } | Self::Start(_) => return None,
        })
    }

    /// Both, in one line.
    pub fn with_hint(&self) -> String {
        self.hint().map_or_else(|| self.to_string(), |hint| format!("{self}. {hint}"))
    }

    /// Not the goal's fault: the same may work later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Store { .. }
                | Self::Busy { .. }
                | Self::File { .. }
                | Self::Git { .. }
                | Self::Repository { .. }
        )
    }
}
