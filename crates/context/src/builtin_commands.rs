//! The names of commands that are part of the agent: they act on the session, not through the model.

use crate::bundled::BUNDLED;
use options::Options;

/// Names and what they do, for clients that list them.
pub const COMMANDS: &[(&str, &str)] = &[
    ("clear", "forget the conversation and start a new one"),
    ("compact", "replace the conversation by a summary of it"),
    ("config", "change settings for this session: key=value …"),
    ("context", "how full the context window is"),
    ("cost", "what this session has cost so far"),
    ("effort", "how hard the model thinks: low, medium, high, xhigh, max, or auto"),
    ("help", "the commands there are"),
    ("init", "have the model write CLAUDE.md for this project"),
    ("mcp", "the MCP servers and how they stand"),
    ("model", "which model answers, or switch to another"),
    ("rename", "give the session a title"),
    ("usage", "what this session has cost so far"),
];

/// All commands of ours that this session has, with what they do and what may stand behind them.
pub fn listed(options: &Options) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let own = COMMANDS.iter().map(|(name, what)| (*name, *what, ""));
    let prompts = BUNDLED.iter().filter(|_| options.bundled).map(|one| (one.name, one.description, one.hint));
    own.chain(prompts).filter(|_| options.slash)
}

/// Commands of the reference that need a person at a terminal.
const ELSEWHERE: [&str; 17] = [
    "agents",
    "bug",
    "doctor",
    "exit",
    "export",
    "feedback",
    "hooks",
    "ide",
    "login",
    "logout",
    "memory",
    "permissions",
    "plugin",
    "quit",
    "resume",
    "theme",
    "vim",
];

/// Why a command that people know from elsewhere does nothing here.
pub fn elsewhere(name: &str) -> Option<String> {
    ELSEWHERE.contains(&name).then(|| format!("/{name} needs a terminal and is not part of this agent."))
}

/// Other names that people know.
const ALIASES: [(&str, &str); 2] = [("new", "clear"), ("reset", "clear")];

/// The command that a name or an alias stands for.
pub fn resolve_alias(name: &str) -> Option<&'static str> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, command)| command);
    COMMANDS.iter().map(|(known, _)| *known).find(|known| *known == name)
}
