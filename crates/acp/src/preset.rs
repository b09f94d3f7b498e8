//! The command of an ACP agent in the loop: a known name, or `acp:` and the command itself.

use crate::bridge::Decision;

/// What a backend begins with that names its command.
pub const PREFIX: &str = "acp:";

/// An agent that is known by a short name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    pub command: &'static str,
    /// How the names of variables begin that hold its credential.
    pub variables: &'static [&'static str],
    /// Where it keeps its state, in the home folder.
    pub folders: &'static [&'static str],
    /// What switches its own sandbox off. One sandbox cannot be made inside of another: without this, the agent could run no command in ours.
    pub unconfined: &'static [(&'static str, &'static str)],
    /// Where its model is.
    pub hosts: &'static [&'static str],
}

pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "codex",
        command: "codex-acp",
        variables: &["OPENAI_", "CODEX_"],
        folders: &[".codex"],
        unconfined: &[("INITIAL_AGENT_MODE", "agent-full-access")],
        hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    },
    Preset {
        name: "gemini",
        command: "gemini --acp",
        variables: &["GEMINI_", "GOOGLE_"],
        folders: &[".gemini"],
        unconfined: &[],
        hosts: &["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    },
    Preset {
        name: "opencode",
        command: "opencode acp",
        variables: &["OPENCODE_"],
        folders: &[".local/share/opencode", ".local/state/opencode", ".cache/opencode", ".config/opencode"],
        unconfined: &[],
        hosts: &["api.anthropic.com", "api.openai.com", "opencode.ai"],
    },
    Preset {
        name: "goose",
        command: "goose acp",
        variables: &["GOOSE_"],
        folders: &[".local/share/goose", ".local/state/goose", ".config/goose"],
        unconfined: &[],
        hosts: &["api.anthropic.com", "api.openai.com"],
    },
    Preset {
        name: "claude-acp",
        command: "claude-agent-acp",
        variables: &["ANTHROPIC_", "CLAUDE_"],
        folders: &[],
        unconfined: &[],
        hosts: &["api.anthropic.com", "platform.claude.com", "console.anthropic.com"],
    },
];

/// By its name, or by the first word of its command: `acp:gemini --acp --model x` is gemini, too.
pub fn preset(name: &str) -> Option<&'static Preset> {
    let first = |command: &str| {
        command.split_whitespace().next().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned())
    };
    match name.strip_prefix(PREFIX) {
        Some(command) => {
            let program = first(command)?;
            PRESETS.iter().find(|preset| first(preset.command).as_deref() == Some(&program))
        }
        None => PRESETS.iter().find(|preset| preset.name == name),
    }
}

/// Variables for an agent that is started with this command: inside of a sandbox, one that may do everything makes none of its own.
pub fn unconfined(command: &str, decision: Decision, is_boxed: bool) -> &'static [(&'static str, &'static str)] {
    let preset = preset(&format!("{PREFIX}{command}"));
    preset.filter(|_| is_boxed && decision == Decision::All).map_or(&[], |preset| preset.unconfined)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the command of an ACP agent is empty; write it after 'acp:', for example --backend acp:'gemini --acp'")]
    Empty,
    #[error("the command of an ACP agent has a quote without its end: {0}")]
    OpenQuote(String),
}

/// The words of a command: separated by blanks, quotes and backslashes as in a shell, nothing else of a shell.
pub fn split_words(command: &str) -> Result<Vec<String>, CommandError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(CommandError::OpenQuote(command.to_owned()));
    }
    words.extend(word);
    if words.first().is_none_or(String::is_empty) { Err(CommandError::Empty) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (command, words) in [
            ("gemini --acp", &["gemini", "--acp"][..]),
            ("  a\t'b c'  \"d \\\" e\" f\\ g ''", &["a", "b c", "d \" e", "f g", ""]),
            ("a$HOME;b", &["a$HOME;b"]),
        ] {
            assert_eq!(split_words(command).unwrap(), words, "{command}");
        }
        assert_eq!(split_words("  "), Err(CommandError::Empty));
        assert_eq!(split_words("'' a"), Err(CommandError::Empty));
        assert_eq!(split_words("a 'b"), Err(CommandError::OpenQuote("a 'b".into())));
    }

    #[test]
    fn an_agent_makes_no_sandbox_inside_of_ours_unless_it_has_to_ask() {
        for (command, decision, is_boxed, expected) in [
            ("codex-acp", Decision::All, true, 1),
            ("/opt/codex-acp -c x=y", Decision::All, true, 1),
            ("codex-acp", Decision::All, false, 0),
            ("codex-acp", Decision::Edits, true, 0),
            ("codex-acp", Decision::Deny, true, 0),
            ("gemini --acp", Decision::All, true, 0),
            ("other", Decision::All, true, 0),
        ] {
            assert_eq!(unconfined(command, decision, is_boxed).len(), expected, "{command} {decision:?} {is_boxed}");
        }
    }

    #[test]
    fn presets_are_known_by_name_and_by_program() {
        for (name, known) in [
            ("codex", Some("codex")),
            ("acp:gemini --acp --model x", Some("gemini")),
            ("acp:/opt/bin/opencode acp", Some("opencode")),
            ("acp:other", None),
            ("acp:", None),
            ("opencode acp", None),
        ] {
            assert_eq!(preset(name).map(|preset| preset.name), known, "{name}");
        }
        for preset in PRESETS {
            assert!(split_words(preset.command).is_ok());
        }
    }
}
