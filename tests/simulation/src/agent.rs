//! One machine in the world, and the work that it waits for.

use crate::checker::Facts;
use std::collections::VecDeque;
use turn::{CallResult, Effect, Entry, Input, Ticket, Turn};

pub struct Agent {
    pub turn: Turn,
    pub parent: Option<Parent>,
    pub pending: Vec<Pending>,
    /// A sub-agent that has not ended.
    pub is_alive: bool,
    /// Somebody wanted it stopped.
    pub was_told_to_stop: bool,
    pub entries: Vec<Entry>,
    pub facts: Facts,
}

/// Who waits for a sub-agent.
#[derive(Debug, Clone, Copy)]
pub struct Parent {
    pub agent: usize,
    pub ticket: Ticket,
    /// Nobody does: the main conversation is told when it has ended.
    pub is_background: bool,
}

pub struct Pending {
    pub ticket: Ticket,
    pub work: Work,
    pub is_cancelled: bool,
}

pub enum Work {
    /// Answered when its time comes.
    Effect(Box<Effect>),
    /// The rest of an answer of the model.
    Stream(VecDeque<Input>),
    /// A tool or question that nobody answers unless it is cancelled.
    Never,
    Subagent(usize),
    SubagentEnded(CallResult, bool),
    Timer(u64),
    /// Cancelled and gone.
    Gone,
    /// Cancelled, and it does not react.
    Deaf,
}

impl Pending {
    pub fn can_be_answered(&self) -> bool {
        matches!(self.work, Work::Effect(_) | Work::Stream(_) | Work::SubagentEnded(..) | Work::Gone)
    }
}

impl Agent {
    pub fn new(turn: Turn, parent: Option<Parent>) -> Self {
        Self {
            turn,
            parent,
            pending: Vec::new(),
            is_alive: true,
            was_told_to_stop: false,
            entries: Vec::new(),
            facts: Facts::default(),
        }
    }

    pub fn take(&mut self, ticket: Ticket) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.ticket == ticket)?;
        Some(self.pending.remove(at))
    }
}
