//! The data types of goals: the goal, its states, its budget.

use serde::{Deserialize, Serialize};
use std::fmt;

pub type GoalId = i64;

/// Counts the claims of a goal. Every write of a worker carries the number of its claim.
pub type Fence = i64;

/// Milliseconds since 1970, by the clock of the store.
pub type Moment = i64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GoalState {
    /// Written down, not to be worked on yet.
    Draft,
    Queued,
    Running,
    /// A usage limit, or a pause after trouble: goes on by itself at `run_at`.
    Waiting,
    /// Asks a person.
    Blocked,
    /// The work is there; another agent looks at it.
    Review,
    /// The work is there; it is rebased, checked and put on the branch.
    Landing,
    Done,
    Failed,
    Cancelled,
}

impl GoalState {
    pub const ALL: [Self; 10] = [
        Self::Draft,
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Blocked,
        Self::Review,
        Self::Landing,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Review => "review",
            Self::Landing => "landing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Nothing happens to it any more unless a person wants it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for GoalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// How the work of a goal gets to its branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LandingMode {
    /// Leaves `ralph/goal-N` for a person.
    #[default]
    Branch,
    /// Moves the base branch.
    Push,
    /// Pushes `ralph/goal-N` and opens a pull request with `gh`.
    Pr,
}

impl LandingMode {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "branch" => Some(Self::Branch),
            "push" => Some(Self::Push),
            "pr" => Some(Self::Pr),
            _ => None,
        }
    }
}

/// Who looks at the work before it lands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reviewer {
    pub backend: Option<String>,
    pub model: Option<String>,
}

/// What a person wrote when the goal was made. Unknown fields of a newer program are passed by.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Iterations of one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Of all attempts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration_tokens: Option<u64>,
    pub land: LandingMode,
    pub squash: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Reviewer>,
    /// Somebody vouched for the repository when the goal was made.
    pub trusted: bool,
}

/// Money in millionths of a USD, and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub micro_usd: i64,
    pub tokens: i64,
}

const MICRO: f64 = 1_000_000.0;

impl Amount {
    pub fn new(usd: f64, tokens: u64) -> Self {
        let micro_usd = (usd.max(0.0) * MICRO).round();
        // `as` saturates: a hostile number becomes the largest, and so never a small one.
        Self { micro_usd: micro_usd as i64, tokens: i64::try_from(tokens).unwrap_or(i64::MAX) }
    }

    pub fn usd(self) -> f64 {
        self.micro_usd as f64 / MICRO
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

/// A limit on money, on tokens, on both, or on neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    pub micro_usd: Option<i64>,
    pub tokens: Option<i64>,
}

impl Cap {
    pub fn new(usd: Option<f64>, tokens: Option<u64>) -> Self {
        Self {
            micro_usd: usd.map(|usd| Amount::new(usd, 0).micro_usd),
            tokens: tokens.map(|tokens| Amount::new(0.0, tokens).tokens),
        }
    }

    pub fn is_none(self) -> bool {
        self.micro_usd.is_none() && self.tokens.is_none()
    }

    /// Whether so much may be spent in all.
    pub fn allows(self, total: Amount) -> bool {
        self.micro_usd.is_none_or(|cap| total.micro_usd <= cap) && self.tokens.is_none_or(|cap| total.tokens <= cap)
    }
}

/// A goal as it stands in the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    pub id: GoalId,
    pub title: String,
    pub state: GoalState,
    pub repo: String,
    pub base: String,
    /// The machine that a local repository lies on; others cannot work on it.
    pub host: Option<String>,
    pub spec: Spec,
    pub priority: i64,
    pub labels: Vec<String>,
    pub created: Moment,
    pub updated: Moment,
    pub run_at: Moment,
    /// Attempts that are over and did not land.
    pub attempts: i64,
    pub max_attempts: i64,
    /// Workers that were lost on it since its last finished iteration.
    pub lost: i64,
    pub fence: Fence,
    pub owner: Option<String>,
    pub lease_until: Option<Moment>,
    pub cancel: bool,
    pub iteration: i64,
    /// The last commit of the work, at `refs/ralph/<store>/<id>/<head_fence>`.
    pub head: Option<String>,
    pub head_fence: Fence,
    /// The run that the next worker goes on with. None: it starts a new one.
    pub run: Option<String>,
    /// For the next attempt: what failed, what was found, what was answered.
    pub context: Option<String>,
    pub question: Option<String>,
    pub error: Option<String>,
    pub spent: Amount,
    pub reserved: Amount,
    pub landed: Option<String>,
    pub landed_from: Option<String>,
    /// Reviews that asked for changes.
    pub rounds: i64,
    /// Goals that must be done first and are not.
    pub unmet: i64,
}

impl Goal {
    pub fn cap(&self) -> Cap {
        Cap::new(self.spec.max_cost, self.spec.max_tokens)
    }

    /// The branch that a person finds the work on.
    pub fn branch(&self) -> String {
        format!("ralph/goal-{}", self.id)
    }

    /// Budgets that count for it beside its own.
    pub fn scopes(&self) -> Vec<String> {
        let labels = self.labels.iter().map(|label| format!("label:{label}"));
        let mut scopes: Vec<String> =
            ["all".to_owned(), format!("repo:{}", self.repo)].into_iter().chain(labels).collect();
        // One order for everybody: two transactions never wait for each other.
        scopes.sort();
        scopes.dedup();
        scopes
    }
}

/// A goal to be made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewGoal {
    pub title: String,
    pub repo: String,
    pub base: String,
    pub host: Option<String>,
    pub spec: Spec,
    pub priority: i64,
    pub labels: Vec<String>,
    pub after: Vec<GoalId>,
    pub max_attempts: i64,
    pub draft: bool,
    /// The same key makes no second goal.
    pub key: Option<String>,
}
