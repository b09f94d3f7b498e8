//! The names of commands that are part of the agent: they act on the session, not through the model.

use crate::bundled;
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
    let prompts = bundled::offered(options).map(|one| (one.name, one.description, one.hint));
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

/// `/name rest`. A path such as `/tmp/x` and a lone slash are no commands.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, args) = rest.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    is_name.then_some((name, args.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_paths() {
        for (text, expected) in [
            ("/fix 42", Some(("fix", "42"))),
            ("  /fix\n a b ", Some(("fix", "a b"))),
            ("/plugin:cmd", Some(("plugin:cmd", ""))),
            ("/", None),
            ("/tmp/x is full", None),
            ("/ fix", None),
            ("fix /it", None),
            ("//x", None),
            ("/42", None),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }
}
