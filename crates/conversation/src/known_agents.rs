//! Agents of a session that can be spoken to after their start.
//!
//! Deliberately absent: starting them and letting them go on (`agent`).

use crate::conversation::Conversation;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use turn::CallResult;

/// Conversations that are kept; the oldest that is not at work goes first.
const KNOWN_MAX: usize = 50;

#[derive(Default)]
pub struct KnownAgents(RefCell<Vec<KnownAgent>>);

/// An agent of this session.
#[derive(Clone)]
pub struct KnownAgent {
    pub id: String,
    /// As the call named it.
    pub name: Option<String>,
    pub agent_type: String,
    pub description: String,
    pub transcript_file: String,
    pub conversation: Rc<Conversation>,
    /// It worked in a checkout of its own, which may be gone.
    pub is_isolated: bool,
    pub is_active: Rc<Cell<bool>>,
}

/// At work as long as this lives.
pub struct Active(Rc<Cell<bool>>);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl KnownAgent {
    fn is(&self, to: &str) -> bool {
        self.id == to || self.name.as_deref() == Some(to)
    }

    pub fn begin(&self) -> Active {
        self.is_active.set(true);
        Active(Rc::clone(&self.is_active))
    }

    /// A machine that was dropped in the middle of a turn cannot begin another.
    pub fn can_go_on(&self) -> bool {
        !self.is_isolated && self.conversation.machine.borrow().is_idle()
    }

    fn status(&self) -> &'static str {
        match (self.is_active.get(), self.can_go_on()) {
            (true, _) => "running",
            (false, true) => "idle",
            (false, false) => "gone",
        }
    }
}

impl KnownAgents {
    /// The main conversation may speak to this agent, which is at work, from now on.
    pub fn add(&self, agent: KnownAgent) -> Active {
        let active = agent.begin();
        let mut known = self.0.borrow_mut();
        if known.len() >= KNOWN_MAX
            && let Some(oldest) = known.iter().position(|agent| !agent.is_active.get())
        {
            known.remove(oldest);
        }
        known.push(agent);
        active
    }

    /// The newest agent of that id or name.
    pub fn find(&self, to: &str) -> Option<KnownAgent> {
        self.0.borrow().iter().rev().find(|agent| agent.is(to)).cloned()
    }

    /// Their ids, for an error.
    pub fn ids(&self) -> String {
        let ids: Vec<String> = self.0.borrow().iter().map(|agent| agent.id.clone()).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
    }

    /// What ListAgents says.
    pub fn listed(&self) -> CallResult {
        let known = self.0.borrow();
        let line = |agent: &KnownAgent| {
            let name = agent.name.as_deref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
            format!("{}{name} ({}, {}): {}", agent.id, agent.agent_type, agent.status(), agent.description)
        };
        let lines: Vec<String> = known.iter().map(line).collect();
        let shown = |agent: &KnownAgent| {
            json!({"id": agent.id, "name": agent.name, "type": agent.agent_type, "description": agent.description,
                "status": agent.status()})
        };
        let agents: Vec<Value> = known.iter().map(shown).collect();
        let words = if lines.is_empty() { "No agent was started yet.".to_owned() } else { lines.join("\n") };
        CallResult::text(words, json!({"agents": agents}))
    }
}
