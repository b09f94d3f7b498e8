//! The effects of a decision, and the events among them.

use crate::state::LoopState;
use crate::{EventKind, IterationStart, Progress, VerdictKind};

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Emit(EventKind),
    StartAgent(Box<IterationStart>),
    /// A message to the running agent.
    Say(String),
    /// No more messages: the agent may leave.
    CloseInput,
    StopAgent,
    RunChecks {
        iteration: u32,
    },
    /// Ask another agent, which may cost so much.
    Review {
        iteration: u32,
        usd: Option<f64>,
    },
    Summarise {
        through: u32,
        earlier: Option<String>,
        entries: Vec<Progress>,
    },
    /// Commit what an iteration left.
    Commit {
        iteration: u32,
        summary: String,
    },
    /// Send [`crate::Input::Tick`] then, at the latest.
    Wake(u64),
    /// Over. The verdict was emitted before.
    End(VerdictKind),
}

/// Emits, and remembers what it emits.
pub(super) fn emit(state: &mut LoopState, kind: EventKind, effects: &mut Vec<Effect>) {
    state.memory.fold(&kind.clone().at(state.now));
    effects.push(Effect::Emit(kind));
}

/// Time passes as well where no agent works.
pub(super) fn wake_at_the_end(state: &LoopState, effects: &mut Vec<Effect>) {
    effects.extend(state.time_ends().map(Effect::Wake));
}
