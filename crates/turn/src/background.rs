//! Whether a sub-agent is waited for, or works in the background while the conversation goes on.
//!
//! The end of one in the background is a [`crate::Input::Notice`], which begins a turn with a result of its own.
//! Deliberately absent: how long the process stays for it (the front end), and what the notice says (the runtime).

use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// An agent that nobody wants in the background, nor waited for, answers its call if it has ended within this time. Work of a real
/// model takes longer; a shorter answer is not worth a turn of its own.
pub const QUICK_AGENT: Duration = Duration::from_secs(2);

/// How long a call waits for the sub-agent that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWait {
    /// The call has the agent's answer.
    ToTheEnd,
    /// For [`QUICK_AGENT`]; an agent that takes longer goes on in the background.
    Briefly,
    /// The call says only that the agent has started.
    No,
}

/// What is known of sub-agents in the background.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Background {
    /// Nobody has switched background tasks off.
    pub is_allowed: bool,
    /// An agent goes to the background where neither its call nor its definition has a wish.
    pub is_default: bool,
    /// Agents whose definition has a wish. The empty name stands for the agent of a call that names none.
    pub agents: BTreeMap<String, bool>,
}

impl Background {
    /// Only the main conversation hears of tasks that end, so only it may leave one alone. The call's own wish is stronger
    /// than the agent's.
    pub(crate) fn wait(&self, is_main: bool, input: &Value) -> AgentWait {
        let agent = input["subagent_type"].as_str().unwrap_or_default();
        let wish = input["run_in_background"].as_bool().or_else(|| self.agents.get(agent).copied());
        match wish {
            _ if !self.is_allowed || !is_main => AgentWait::ToTheEnd,
            Some(true) => AgentWait::No,
            None if self.is_default => AgentWait::Briefly,
            Some(false) | None => AgentWait::ToTheEnd,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_is_waited_for() {
        use AgentWait::{Briefly, No, ToTheEnd};
        let agents = BTreeMap::from([("watcher".to_owned(), true), ("checker".to_owned(), false)]);
        let allowed = Background { is_allowed: true, is_default: true, agents };
        let refused = Background { is_allowed: false, ..allowed.clone() };
        let counted = Background { is_default: false, ..allowed.clone() };
        let asked = json!({"run_in_background": true});
        let by_agent = json!({"subagent_type": "watcher"});
        let by_agent_but_no = json!({"subagent_type": "watcher", "run_in_background": false});
        for (what, background, is_main, input, expected) in [
            ("asked for", &allowed, true, &asked, No),
            ("asked for by another agent", &allowed, false, &asked, ToTheEnd),
            ("asked for where it is off", &refused, true, &asked, ToTheEnd),
            ("asked for where it is not the default", &counted, true, &asked, No),
            ("not asked for", &allowed, true, &json!({}), Briefly),
            ("not asked for, where it is not the default", &counted, true, &json!({}), ToTheEnd),
            ("not asked for, where it is off", &refused, true, &json!({}), ToTheEnd),
            ("not asked for by another agent", &allowed, false, &json!({}), ToTheEnd),
            ("a no", &allowed, true, &json!({"run_in_background": false}), ToTheEnd),
            ("no word, but the agent's", &allowed, true, &by_agent, No),
            ("the agent's word where it is off", &refused, true, &by_agent, ToTheEnd),
            ("a no is stronger than the agent's word", &allowed, true, &by_agent_but_no, ToTheEnd),
            ("the agent's no", &allowed, true, &json!({"subagent_type": "checker"}), ToTheEnd),
            ("something that is no word", &allowed, true, &json!({"run_in_background": "yes"}), Briefly),
        ] {
            assert_eq!(background.wait(is_main, input), expected, "{what}");
        }
        let agents = BTreeMap::from([(String::new(), true)]);
        let general = Background { is_allowed: true, is_default: false, agents };
        assert_eq!(general.wait(true, &json!({})), No, "the agent of a call that names none");
    }
}
