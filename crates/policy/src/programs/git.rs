//! `git`: the sub-commands that only read, each with its own options.
//!
//! Absent, among others: `-C`, `-c`, `--git-dir` and what else leads to another repository or configuration;
//! `--output`, `--ext-diff`, `--textconv`, `--no-index`, `-O` (of `grep` it runs a program, of `diff` it reads a
//! file), `--contents`, `--show-signature`, `--remerge-diff` and `-m` (merge drivers run), `--submodule`,
//! `--alternate-refs`, `--stdin`.

mod tables;

use super::effects::{Arg, Effects};
use super::options::{Parsed, Style, parse};

pub(super) use tables::{GLOBALS, SUBCOMMANDS};

/// What the operands of a sub-command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// There must be none.
    None,
    /// Revisions and paths.
    Any,
    /// Names to list by; without an option that lists, they would be made.
    Listed,
    /// Text to search for, then revisions and paths.
    Pattern,
    /// One name that is no path.
    Name,
}

pub(super) struct Subcommand {
    /// The words after `git`.
    pub(super) words: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) operands: Operands,
}

const STYLE: Style = Style { ordered: false, number: true, whole: false };

pub(super) fn effects(args: &[Arg]) -> Option<Effects> {
    let at = args.iter().position(|arg| !GLOBALS.split_whitespace().any(|global| global == arg.text));
    let args = &args[at.unwrap_or(args.len())..];
    if let [only] = args
        && matches!(only.text.as_str(), "--version" | "version")
        && !only.glob
    {
        return Some(Effects::default());
    }
    let words = |command: &&Subcommand| {
        let words = args.iter().take(command.words.len());
        args.len() >= command.words.len() && words.zip(command.words).all(|(arg, word)| !arg.glob && arg.text == *word)
    };
    let command = SUBCOMMANDS.iter().filter(words).max_by_key(|command| command.words.len())?;
    let rest = &args[command.words.len()..];
    // Without `show`, the first word of `reflog` may be another sub-command.
    let reflog = command.words == ["reflog"] && rest.first().is_some_and(|first| !first.text.starts_with('-'));
    if reflog || unclear(rest) {
        return None;
    }
    let parsed = parse(command.options, STYLE, rest)?;
    command.effects(parsed)
}

/// Git takes a pattern that the shell leaves behind for a pathspec; before `--` it may be anything.
fn unclear(args: &[Arg]) -> bool {
    args.iter().take_while(|arg| arg.text != "--").any(|arg| arg.glob)
}

impl Subcommand {
    fn effects(&self, parsed: Parsed) -> Option<Effects> {
        let searches = self.operands == Operands::Pattern;
        let skipped = usize::from(searches && !parsed.pattern);
        let count = parsed.operands.len();
        match self.operands {
            Operands::None if count > 0 => return None,
            Operands::Listed if count > 0 && !parsed.list => return None,
            Operands::Name if count != 1 => return None,
            _ => {}
        }
        let mut effects =
            Effects { reads: parsed.reads, git: true, tree: searches, cwd: searches, ..Effects::default() };
        if self.operands == Operands::Name {
            return Some(effects);
        }
        for operand in parsed.operands.into_iter().skip(skipped) {
            // From the top of the repository, which may be outside the workspace.
            if operand.text.starts_with(":/") || operand.text.starts_with(":(") {
                return None;
            }
            effects.reads.push(operand.clone());
            // `HEAD:path` reads a path, too.
            if let Some((_, path)) = operand.text.split_once(':') {
                let path = path.trim_start_matches([':', '!', '^', '/']);
                let path = path.split_once(':').map_or(path, |(_, path)| path);
                effects.reads.push(Arg { text: path.to_owned(), glob: operand.glob });
            }
        }
        Some(effects)
    }
}
