//! Whether a sub-agent is waited for, or works in the background while the conversation goes on.
//!
//! The end of one in the background is a [`crate::Input::Notice`], which begins a turn with a result of its own.
//! Deliberately absent: how long the process stays for it (the front end), and what the notice says (the runtime).

use serde_json::Value;
use std::collections::BTreeSet;

/// What is known of sub-agents in the background.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Background {
    /// Nobody has switched background tasks off.
    pub is_allowed: bool,
    /// Agents that are not waited for unless a call says so. The empty name stands for the agent of a call that names none.
    pub agents: BTreeSet<String>,
}

impl Background {
    /// Only the main conversation hears of tasks that end, so only it may leave one alone. The call's own wish is stronger
    /// than the agent's; where neither has one, the agent is waited for.
    pub(crate) fn takes(&self, is_main: bool, input: &Value) -> bool {
        let agent = input["subagent_type"].as_str().unwrap_or_default();
        let wish = input["run_in_background"].as_bool();
        self.is_allowed && is_main && wish.unwrap_or_else(|| self.agents.contains(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_is_waited_for() {
        let allowed = Background { is_allowed: true, agents: BTreeSet::from(["watcher".to_owned()]) };
        let refused = Background { is_allowed: false, ..allowed.clone() };
        let asked = json!({"run_in_background": true});
        let by_agent = json!({"subagent_type": "watcher"});
        let by_agent_but_no = json!({"subagent_type": "watcher", "run_in_background": false});
        for (what, background, is_main, input, expected) in [
            ("asked for", &allowed, true, &asked, true),
            ("asked for by another agent", &allowed, false, &asked, false),
            ("asked for where it is off", &refused, true, &asked, false),
            ("not asked for", &allowed, true, &json!({}), false),
            ("no word, but the agent's", &allowed, true, &by_agent, true),
            ("the agent's word where it is off", &refused, true, &by_agent, false),
            ("a no is stronger than the agent's word", &allowed, true, &by_agent_but_no, false),
            ("something that is no word", &allowed, true, &json!({"run_in_background": "yes"}), false),
        ] {
            assert_eq!(background.takes(is_main, input), expected, "{what}");
        }
        let general = Background { is_allowed: true, agents: BTreeSet::from([String::new()]) };
        assert!(general.takes(true, &json!({})), "the agent of a call that names none");
    }
}
