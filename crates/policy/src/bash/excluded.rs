//! Commands that run outside of a sandbox, by the names that people gave. Pure, and narrow: what is not surely one of
//! them stays inside.
//!
//! Every part of a command must be excluded and in the small grammar, and nothing of it may reach beyond: no redirection
//! into a file, no variable that changes what runs. Deliberately absent: whether it may run at all.

use super::{argv, locate};
use crate::grammar;
use crate::paths::Access;
use crate::pattern::CommandPattern;
use crate::shell::{self, SimpleCommand, Word};

/// A word alone is a program, with any arguments; else as in a rule for Bash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclusions {
    patterns: Vec<CommandPattern>,
}

impl Exclusions {
    /// The patterns of these texts; a text that names no program excludes nothing.
    pub fn new(texts: &[String]) -> Self {
        let parse = |text: &String| {
            let text = text.trim();
            let alone = !text.contains(|c: char| c.is_whitespace() || c == '*');
            let pattern = CommandPattern::parse(&if alone { format!("{text} *") } else { text.to_owned() });
            // A pattern without a program is for everything, and that is no exclusion.
            pattern.program().is_some().then_some(pattern)
        };
        Self { patterns: texts.iter().filter_map(parse).collect() }
    }

    /// Whether every part of the command is excluded.
    pub fn cover(&self, command: &str) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let Ok(tree) = grammar::parse(command) else { return false };
        let script = tree.script();
        !script.commands.is_empty() && script.commands.iter().all(|part| self.covers(part))
    }

    fn covers(&self, command: &SimpleCommand) -> bool {
        let writes = |redirect: &shell::Redirect| redirect.write && !locate::is_sink(&redirect.target, Access::Write);
        !command.redirects.iter().any(writes) && argv::layers(&command.words).iter().any(|words| self.names(words))
    }

    fn names(&self, words: &[Word]) -> bool {
        // A name with a folder is another program; one that the shell still has to find out is none.
        let Some(name) = words.first().filter(|name| name.exact() == Some(name.raw.as_str())) else { return false };
        let text = argv::raw_text(words);
        self.patterns.iter().any(|pattern| {
            pattern.program() == Some(name.raw.as_str())
                && pattern.matches(&text)
                && !argv::beyond_wildcards(words, pattern.program())
        })
    }
}
