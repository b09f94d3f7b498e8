//! How many agents a run has started, and what became of them: `subagent_stats` of the result.
//!
//! Deliberately absent: agents that answer for a hook, and calls that were refused, which never became an agent.

use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use turn::{Subagent, SubagentStatus};

#[derive(Default)]
pub struct SubagentStats(RefCell<Counts>);

#[derive(Default)]
struct Counts {
    /// As the model wanted them: in the background, in the foreground, without a word.
    requested: [u64; 3],
    spawned: u64,
    started_in_background: u64,
    max_depth: u32,
    spawned_by_subagents: u64,
    completed: u64,
    failed: u64,
    stopped: u64,
    by_type: BTreeMap<String, u64>,
}

impl SubagentStats {
    pub fn request(&self, in_background: Option<bool>) {
        let kind = match in_background {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        };
        self.0.borrow_mut().requested[kind] += 1;
    }

    pub fn spawn(&self, agent: &Subagent) {
        if agent.answers_a_hook {
            return;
        }
        let mut counts = self.0.borrow_mut();
        counts.spawned += 1;
        counts.max_depth = counts.max_depth.max(agent.depth);
        counts.spawned_by_subagents += u64::from(agent.depth > 1);
        *counts.by_type.entry(agent.agent_type.clone()).or_default() += 1;
    }

    pub fn leave_in_background(&self) {
        self.0.borrow_mut().started_in_background += 1;
    }

    pub fn end(&self, status: SubagentStatus) {
        let mut counts = self.0.borrow_mut();
        match status {
            SubagentStatus::Completed => counts.completed += 1,
            SubagentStatus::Failed => counts.failed += 1,
            SubagentStatus::Stopped => counts.stopped += 1,
        }
    }

    pub fn shown(&self) -> Value {
        let counts = self.0.borrow();
        let [background, foreground, unset] = counts.requested;
        json!({
            "spawned": counts.spawned,
            "requested": {"background": background, "foreground": foreground, "unset": unset},
            "started_in_background": counts.started_in_background,
            "max_depth": counts.max_depth,
            "spawned_by_subagents": counts.spawned_by_subagents,
            "completed": counts.completed,
            "failed": counts.failed,
            "killed": {"parent": 0, "user": counts.stopped, "system": 0},
            "by_type": counts.by_type,
        })
    }
}
