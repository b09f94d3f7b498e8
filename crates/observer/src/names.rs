//! Names as they may leave the machine: what the user or a third party has named is hidden unless details are released.

use turn::{Role, Subagent};

/// Agents of ours. Every other name is the user's.
const BUILTIN_AGENTS: [&str; 3] = ["general-purpose", "Explore", "Plan"];
/// In place of a name that is the user's.
pub(crate) const CUSTOM: &str = "custom";

pub(crate) fn is_builtin_agent(name: &str) -> bool {
    BUILTIN_AGENTS.contains(&name)
}

pub(crate) fn agent_type(agent: &Subagent) -> &str {
    if is_builtin_agent(&agent.agent_type) { &agent.agent_type } else { CUSTOM }
}

/// Who a request is made for, as metrics tell it.
pub(crate) fn short_source(role: &Role) -> &'static str {
    match role {
        Role::Main => "main",
        Role::Sub(_) => "subagent",
    }
}

/// The same as events tell it.
pub(crate) fn source(role: &Role) -> String {
    match role {
        Role::Main => "sdk".to_owned(),
        Role::Sub(agent) if is_builtin_agent(&agent.agent_type) => format!("agent:builtin:{}", agent.agent_type),
        Role::Sub(_) => "agent:custom".to_owned(),
    }
}

/// The server and the tool of `mcp__server__tool`.
pub(crate) fn mcp_tool(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// A server's name as the names of its tools have it.
pub(crate) fn server_in_tools(name: &str) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().map(|letter| if is_kept(letter) { letter } else { '_' }).collect()
}

/// A tool's name; that of a server's only where details are released.
pub(crate) fn tool<'a>(name: &'a str, hidden: &'a str, shows_details: bool) -> &'a str {
    if name.starts_with("mcp__") && !shows_details { hidden } else { name }
}

/// A command's name; the user's only where details are released.
pub(crate) fn command(name: &str, source: &'static str, shows_details: bool) -> String {
    if source == "builtin" || shows_details { name.to_owned() } else { source.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_hidden() {
        let custom = Role::Sub(Box::new(Subagent { agent_type: "secret-project".into(), ..Subagent::default() }));
        let ours = Role::Sub(Box::new(Subagent { agent_type: "Explore".into(), ..Subagent::default() }));
        assert_eq!((source(&custom), source(&ours)), ("agent:custom".into(), "agent:builtin:Explore".into()));
        assert_eq!((source(&Role::Main), short_source(&custom)), ("sdk".into(), "subagent"));
        assert_eq!(tool("mcp__vault__open", "mcp_tool", false), "mcp_tool");
        assert_eq!(tool("mcp__vault__open", "mcp_tool", true), "mcp__vault__open");
        assert_eq!(tool("Bash", "mcp_tool", false), "Bash");
        assert_eq!(mcp_tool("mcp__vault__open_it"), Some(("vault", "open_it")));
        assert_eq!(server_in_tools("my.vault 2_a-b"), "my_vault_2_a-b");
        assert_eq!(command("deploy", "custom", false), "custom");
        assert_eq!(command("compact", "builtin", false), "compact");
    }
}
