//! The sub-commands of the agent, `claude COMMAND …`, in one table: those that are here, and those of the reference
//! that are not, with what to use instead. A word of this table is never sent to a model as a prompt.
//!
//! Deliberately absent: what a command does.

use crate::nearest::nearest;
use crate::parse::parse;

#[derive(Debug)]
pub struct AgentCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What follows the name on the command line.
    pub arguments: &'static str,
    /// The words that may follow; empty where any word may.
    pub words: &'static [&'static str],
    pub summary: &'static str,
    /// When the words are this command and no prompt.
    pub taken: Taken,
    /// For a command that is not here: what to use.
    pub instead: Option<&'static str>,
}

/// When a first word is the command and not the beginning of a prompt that nobody put into quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Whatever follows.
    Always,
    /// When no further plain word follows.
    Alone,
    /// When nothing follows that has a blank in it.
    WithPlainWords,
    /// When one of its words follows.
    Named,
}

use Taken::{Alone, Always, Named, WithPlainWords};

const PLAIN: AgentCommand =
    AgentCommand { name: "", aliases: &[], arguments: "", words: &[], summary: "", taken: Always, instead: None };

const fn missing(name: &'static str, aliases: &'static [&'static str], instead: &'static str) -> AgentCommand {
    AgentCommand { name, aliases, instead: Some(instead), ..PLAIN }
}

const BACKGROUND: &str = "This agent starts no background sessions. 'ralph --detach' starts a loop in the background; \
                          'ralph runs', 'ralph attach', 'ralph stop' and 'ralph show' are for loops.";
const UPDATES: &str = "This agent does not update itself. Install a newer version the way this one was installed.";

pub const AGENT_COMMANDS: &[AgentCommand] = &[
    AgentCommand { name: "auth", words: &["status", "login", "logout"], taken: WithPlainWords, ..PLAIN },
    AgentCommand {
        name: "mcp",
        words: &[
            "add",
            "add-json",
            "list",
            "get",
            "remove",
            "reset-project-choices",
            "serve",
            "login",
            "logout",
            "add-from-claude-desktop",
        ],
        taken: WithPlainWords,
        ..PLAIN
    },
    AgentCommand {
        name: "plugin",
        aliases: &["plugins"],
        words: &[
            "marketplace",
            "install",
            "i",
            "uninstall",
            "remove",
            "rm",
            "enable",
            "disable",
            "list",
            "update",
            "validate",
        ],
        taken: WithPlainWords,
        ..PLAIN
    },
    AgentCommand { name: "doctor", taken: Alone, ..PLAIN },
    AgentCommand { name: "help", taken: Alone, summary: "the options of the agent", ..PLAIN },
    AgentCommand {
        name: "agents",
        arguments: "[--json]",
        summary: "background sessions: always none, because this agent starts none",
        ..PLAIN
    },
    AgentCommand {
        name: "auto-mode",
        arguments: "config|defaults",
        words: &["config", "defaults", "reset"],
        summary: "the rules of the 'auto' permission mode that the settings have, as JSON",
        ..PLAIN
    },
    AgentCommand {
        name: "purge",
        arguments: "[PATH] [--all] [--dry-run] [--yes]",
        summary: "delete what is kept about a project: transcripts, file history, logs, and its record with its trust",
        ..PLAIN
    },
    AgentCommand {
        name: "project",
        arguments: "purge …",
        words: &["purge"],
        summary: "the same as 'purge'",
        taken: Named,
        ..PLAIN
    },
    missing(
        "setup-token",
        &[],
        "This agent cannot log in with a browser, so it cannot make a token. Set ANTHROPIC_API_KEY; or set \
         CLAUDE_CODE_OAUTH_TOKEN to a token that another program made; or configure apiKeyHelper in your user settings.",
    ),
    AgentCommand { taken: WithPlainWords, ..missing("update", &["install", "upgrade"], UPDATES) },
    missing("attach", &["logs", "stop", "kill", "respawn", "rm", "daemon"], BACKGROUND),
    missing("gateway", &["self-hosted-runner"], "Run a gateway of your own and set ANTHROPIC_BASE_URL to its address."),
    missing("import", &[], "Copy the instructions into CLAUDE.md or AGENTS.md, and servers with 'claude mcp add'."),
    missing("remote-control", &[], "'ralph serve' offers runs over HTTP; 'ralph acp' offers the agent to editors."),
    missing("ultrareview", &[], "A review runs here with a prompt: git diff | claude -p 'Review this change'."),
];

impl AgentCommand {
    pub fn find(name: &str) -> Option<&'static Self> {
        AGENT_COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        AGENT_COMMANDS.iter().flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
    }

    /// The line for somebody who typed a command that is not here.
    pub fn refusal(&self, typed: &str) -> Option<String> {
        self.instead.map(|instead| format!("Error: '{typed}' is not part of this agent. {instead}"))
    }
}

/// What the first plain word of a command line is.
#[derive(Debug, PartialEq, Eq)]
pub enum FirstWord {
    /// A command; the words from here on are its own.
    Command { at: usize },
    /// Close to a command, and not meant as a prompt.
    Misspelled { word: String, near: &'static str },
    /// The prompt, or nothing.
    Other,
}

/// No command is as long; longer words are prompts.
const LONGEST: usize = 20;

/// Looks for a command among the words after the program's name. Flags of the agent may come before it. With `-p`, or
/// with messages on stdin, there is no command.
pub fn first_word(words: &[String]) -> FirstWord {
    for (at, word) in words.iter().enumerate() {
        let is_candidate = !word.is_empty() && !word.starts_with('-') && word.len() <= LONGEST && !has_blank(word);
        if word == "--" {
            return FirstWord::Other;
        }
        if !is_candidate {
            continue;
        }
        let Ok(typed) = parse(words[..=at].iter().cloned()) else { continue };
        if typed.print || typed.input_format.is_some() {
            return FirstWord::Other;
        }
        match typed.positionals.as_slice() {
            [] => {}
            [first] if first == word => return judge(word, at, &words[at + 1..]),
            _ => return FirstWord::Other,
        }
    }
    FirstWord::Other
}

fn has_blank(word: &str) -> bool {
    word.contains(char::is_whitespace)
}

fn judge(word: &str, at: usize, rest: &[String]) -> FirstWord {
    let next = rest.first().map_or("", String::as_str);
    let asks_help = rest.iter().any(|word| word == "--help" || word == "-h");
    if let Some(command) = AgentCommand::find(word) {
        let is_named = command.words.contains(&next) && matches!(command.taken, WithPlainWords | Named);
        let is_prompt = rest.iter().any(|word| word == "-p" || word == "--print" || word.starts_with("--input-format"));
        let is_taken = match command.taken {
            Always => true,
            Alone => rest.iter().all(|word| word.starts_with('-')),
            WithPlainWords => !rest.iter().any(|word| has_blank(word)),
            Named => false,
        };
        return if is_named || asks_help || (is_taken && !is_prompt) {
            FirstWord::Command { at }
        } else {
            FirstWord::Other
        };
    }
    let is_alone = rest.is_empty() || asks_help;
    let known =
        AgentCommand::names().filter(|name| AgentCommand::find(name).is_some_and(|known| known.taken != Always));
    let near = nearest(word, known).filter(|_| word.len() > 2);
    match near {
        Some(near) if is_alone || AgentCommand::find(near).is_some_and(|known| known.words.contains(&next)) => {
            FirstWord::Misspelled { word: word.to_owned(), near }
        }
        _ => FirstWord::Other,
    }
}

#[cfg(test)]
#[path = "agent_commands_tests.rs"]
mod tests;
