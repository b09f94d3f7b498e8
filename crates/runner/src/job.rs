//! The inputs of a run: settings, backend, credentials, environment.

use crate::backend::Backend;
use crate::{ConfinedAgent, Folder, Rehearsal, Settings};
use cycle::{LoopEvent, Price};
use jiff::tz::TimeZone;
use process::Env;
use sandbox::Rules;

/// What an external agent is given to authenticate with.
#[derive(Clone, PartialEq, Eq)]
pub enum Auth {
    /// Whatever the environment says.
    Ambient,
    Key(String),
    /// An empty key: the agent's own login.
    Login,
}

/// Never shows a key.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ambient => "Ambient",
            Self::Key(_) => "Key(…)",
            Self::Login => "Login",
        })
    }
}

/// An agent that only looks, ready to be started: it reads its prompt from stdin and prints one result.
#[derive(Debug, Clone)]
pub struct Reviewer {
    pub program: std::path::PathBuf,
    pub args: Vec<String>,
    pub env: Env,
    /// The sandbox around an agent that makes none of its own.
    pub sandbox: Option<std::sync::Arc<sandbox::Sandbox>>,
}

/// A fallback model: its name for the agent, and the variables that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// As the user wrote it.
    pub name: String,
    pub model: String,
    /// `None` takes a variable away.
    pub env: Vec<(&'static str, Option<String>)>,
}

#[derive(Debug, Clone)]
pub struct Job {
    pub folder: Folder,
    pub settings: Settings,
    pub backend: Backend,
    pub auth: Auth,
    /// For agents, checks and git.
    pub env: Env,
    /// What checks may do: they execute what agents wrote.
    pub rules: Option<Rules>,
    /// The sandbox around an agent that is not ours; our own agent confines its commands itself.
    pub confined: Option<ConfinedAgent>,
    /// The socket of the issue tracker's daemon, where agents in the sandbox may reach it.
    pub beads_socket: Option<std::path::PathBuf>,
    /// The reviewer of finished work, where one is configured.
    pub reviewer: Option<Reviewer>,
    /// To be said when the run begins.
    pub warnings: Vec<String>,
    /// Days begin and clocks count here.
    pub zone: TimeZone,
    /// The person's account of the day, over all folders; none in a rehearsal, which spends nothing.
    pub account: Option<std::path::PathBuf>,
    /// What this run is for, where a watching loop found it.
    pub work: Option<cycle::WorkItem>,
    /// A run to go on with.
    pub resume: Option<String>,
    /// Somebody is there to answer questions.
    pub attended: bool,
    /// The flags of the run, by key; a resumed run uses them again.
    pub flags: serde_json::Map<String, serde_json::Value>,
    /// What messages cost before an agent says so.
    pub price: Price,
    /// Other models, for the time that the first is at its usage limit.
    pub fallback: Vec<Fallback>,
    /// The trace that agents and spans of this run belong to, where one is exported.
    pub trace: Option<crate::RunTrace>,
    /// The faults to play, where this is only a rehearsal.
    pub rehearsal: Option<Rehearsal>,
}

/// Where events go. A sink must not fail the run: what it cannot write it drops.
pub trait Sink {
    fn event(&mut self, event: &LoopEvent);

    /// Time passes while nothing happens: a wait goes on.
    fn tick(&mut self, _now: u64) {}
}

impl<F: FnMut(&LoopEvent)> Sink for F {
    fn event(&mut self, event: &LoopEvent) {
        self(event);
    }
}
