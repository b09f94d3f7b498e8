//! Running commands: the shell, its limits, its sandbox and the exceptions from it.

pub(crate) mod exits;
pub(crate) mod output;
pub(crate) mod running;
pub(crate) mod script;
pub(crate) mod user_shell;

pub use exits::{Exits, OnRequest, UnconfinedReason};
pub use script::find_shell;
pub use user_shell::UserShell;

use sandbox::{Rules, Sandbox};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How commands are run. Everything the environment had to say is in here.
#[derive(Clone)]
pub struct Shell {
    pub program: PathBuf,
    /// The whole environment of commands; credentials already removed where that was asked for.
    pub env: process::Env,
    pub default_timeout: Duration,
    pub max_timeout: Duration,
    /// Characters of output that are returned whole.
    pub max_output: usize,
    pub background_allowed: bool,
    /// Sourced before each command.
    pub env_file: Option<PathBuf>,
    /// Functions and aliases of the user's, for commands that a rule, a mode or a person allowed.
    pub user: Option<UserShell>,
    /// A command that is given each command as its last argument.
    pub prefix: Option<String>,
    /// Every command starts in the project's folder.
    pub maintain_project_dir: bool,
    /// Where outputs are written; created when first needed.
    pub spill_dir: PathBuf,
    /// Used when that fails.
    pub fallback_dir: PathBuf,
    /// Every command runs in it, or not at all.
    pub sandbox: Option<Arc<Sandbox>>,
    /// File tools and fetches keep to its rules, too.
    pub fenced: bool,
    /// Commands that leave it.
    pub exits: Exits,
}

impl Shell {
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
    pub const MAX_TIMEOUT: Duration = Duration::from_mins(10);
    pub const DEFAULT_MAX_OUTPUT: usize = 30_000;
    /// What the reference allows at most.
    pub const LARGEST_MAX_OUTPUT: usize = 150_000;

    /// A shell with the usual limits.
    pub fn new(program: PathBuf, env: process::Env, spill_dir: PathBuf, fallback_dir: PathBuf) -> Self {
        Self {
            program,
            env,
            default_timeout: Self::DEFAULT_TIMEOUT,
            max_timeout: Self::MAX_TIMEOUT,
            max_output: Self::DEFAULT_MAX_OUTPUT,
            background_allowed: true,
            env_file: None,
            user: None,
            prefix: None,
            maintain_project_dir: false,
            spill_dir,
            fallback_dir,
            sandbox: None,
            fenced: false,
            exits: Exits::default(),
        }
    }

    /// What other tools than this one have to keep to.
    pub fn fence(&self) -> Option<&Rules> {
        self.sandbox.as_deref().filter(|_| self.fenced).map(Sandbox::rules)
    }

    /// As it is for commands that leave.
    pub(crate) fn unconfined(&self) -> Self {
        Self { sandbox: None, env: self.exits.env().clone(), ..self.clone() }
    }

    /// Whether a call runs outside of the sandbox that there is, and why.
    pub fn leaves(&self, input: &serde_json::Value) -> Option<UnconfinedReason> {
        self.sandbox.as_ref().and_then(|_| self.exits.leaves(input))
    }

    pub(crate) fn limit(&self, asked: Option<f64>) -> Duration {
        let asked = asked.filter(|ms| ms.is_finite() && *ms >= 1.0).map(|ms| Duration::from_millis(ms as u64));
        asked.unwrap_or(self.default_timeout).min(self.max_timeout.max(self.default_timeout))
    }
}
