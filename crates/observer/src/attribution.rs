//! What a request was made for: an agent, a skill, the result of a server's tool. Pure.
//!
//! Names of others are hidden unless details are released: those of the user behind one word, those of plugins behind another.

use crate::names::{self, CUSTOM};
use turn::Role;

/// Skills that come with the program.
const BUNDLED_SKILLS: [&str; 6] = ["code-review", "goal", "loop", "review", "security-review", "simplify"];
/// In place of a name from a plugin.
pub(crate) const THIRD_PARTY: &str = "third-party";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attribution {
    /// The skill that was called last in this turn; `plugin:skill` for one of a plugin's.
    pub(crate) skill: Option<String>,
    /// The server and the tool whose result the request has first.
    pub(crate) mcp_tool: Option<(String, String)>,
}

impl Attribution {
    /// Names and values, in the order in which they are told.
    pub(crate) fn told(&self, role: &Role, shows_details: bool) -> Vec<(&'static str, String)> {
        let shown = |name: &str, hidden: &str| if shows_details { name.to_owned() } else { hidden.to_owned() };
        let mut told = Vec::new();
        if let Role::Sub(agent) = role {
            told.push(("agent.name", shown(&agent.agent_type, names::agent_type(agent))));
        }
        if let Some(skill) = &self.skill {
            let plugin = skill.split_once(':').map(|(plugin, _)| plugin);
            let hidden = match plugin {
                Some(_) => THIRD_PARTY,
                None if BUNDLED_SKILLS.contains(&skill.as_str()) => skill,
                None => CUSTOM,
            };
            told.push(("skill.name", shown(skill, hidden)));
            told.extend(plugin.map(|plugin| ("plugin.name", shown(plugin, THIRD_PARTY))));
        }
        if let Some((server, tool)) = &self.mcp_tool {
            told.extend([("mcp_server.name", shown(server, CUSTOM)), ("mcp_tool.name", shown(tool, CUSTOM))]);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turn::Subagent;

    #[test]
    fn names_of_others_are_told_only_with_details() {
        let role = |name: &str| Role::Sub(Box::new(Subagent { agent_type: name.into(), ..Subagent::default() }));
        let of = |skill: Option<&str>, tool: Option<(&str, &str)>| Attribution {
            skill: skill.map(str::to_owned),
            mcp_tool: tool.map(|(server, tool)| (server.to_owned(), tool.to_owned())),
        };
        let told = |role: &Role, what: &Attribution, details: bool| -> String {
            let pair = |(name, value): (&str, String)| format!("{name}={value}");
            what.told(role, details).into_iter().map(pair).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(&Role::Main, &of(None, None), true), "");
        assert_eq!(told(&role("Explore"), &of(Some("review"), None), false), "agent.name=Explore skill.name=review");
        assert_eq!(told(&role("secret"), &of(Some("mine"), None), false), "agent.name=custom skill.name=custom");
        assert_eq!(told(&role("secret"), &of(Some("mine"), None), true), "agent.name=secret skill.name=mine");
        let plugin = of(Some("p:s"), Some(("vault", "open")));
        let hidden = "skill.name=third-party plugin.name=third-party mcp_server.name=custom mcp_tool.name=custom";
        assert_eq!(told(&Role::Main, &plugin, false), hidden);
        let shown = "skill.name=p:s plugin.name=p mcp_server.name=vault mcp_tool.name=open";
        assert_eq!(told(&Role::Main, &plugin, true), shown);
    }
}
