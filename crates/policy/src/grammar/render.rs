//! The one way in which a tree is written for a shell.
//!
//! Understood alike by bash, zsh and POSIX sh: single quotes around every word that is more than plain characters.

use super::tree::{Command, Join, List, Pipeline, Redirect, Stream, Word};

/// What is put around a command that nobody was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disarm {
    /// As the user's shell knows it.
    No,
    /// A program that a rule allowed. Git does not take a folder of files for a repository.
    Repository,
    /// The program of that name on the search path, whatever functions there are; git asks no other program.
    Program,
}

/// Commands of the shell itself: there is no program that could do the same.
pub(crate) const BUILTINS: [&str; 12] =
    ["cd", "exit", ":", "true", "false", "echo", "printf", "test", "[", "pwd", "type", "command"];

impl List {
    /// `how` says it of each command, in the order of the text.
    pub(crate) fn render(&self, mut how: impl FnMut(&Command) -> Disarm) -> String {
        let mut out = String::new();
        for (i, (join, pipeline)) in self.items.iter().enumerate() {
            out.push_str(match join {
                _ if i == 0 => "",
                Join::Then => "\n",
                Join::And => " && ",
                Join::Or => " || ",
            });
            pipeline.render(&mut out, &mut how);
        }
        out
    }
}

impl Pipeline {
    fn render(&self, out: &mut String, how: &mut impl FnMut(&Command) -> Disarm) {
        if self.timed {
            out.push_str("time ");
        }
        if self.negated {
            out.push_str("! ");
        }
        for (i, command) in self.commands.iter().enumerate() {
            if i > 0 {
                out.push_str(" | ");
            }
            command.render(out, how(command));
        }
    }
}

impl Command {
    fn render(&self, out: &mut String, how: Disarm) {
        for (name, value) in &self.variables {
            out.push_str(&format!("{name}={} ", quoted(value)));
        }
        let Some((name, args)) = self.words.split_first() else { return };
        if how == Disarm::Program && !BUILTINS.contains(&name.text.as_str()) {
            out.push_str("command ");
        }
        out.push_str(&quoted(&name.text));
        match (name.text.as_str(), how) {
            ("git", Disarm::Program) => {
                out.push_str(" -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null");
            }
            ("git", Disarm::Repository) => out.push_str(" -c safe.bareRepository=explicit"),
            _ => {}
        }
        let looks_inside = (name.text == "git" && how == Disarm::Program)
            .then(|| args.iter().position(|word| !word.text.starts_with('-')))
            .flatten();
        for (at, word) in args.iter().enumerate() {
            out.push(' ');
            match word {
                // Else `CDPATH` is searched.
                Word { text, glob: false, .. } if name.text == "cd" && is_found_elsewhere(text) => {
                    out.push_str(&quoted(&format!("./{text}")));
                }
                Word { text, glob: true, .. } => out.push_str(text),
                Word { text, .. } => out.push_str(&quoted(text)),
            }
            // Else git starts a git in every repository inside this one, which obeys that one's configuration.
            if looks_inside == Some(at) && matches!(word.text.as_str(), "status" | "diff") {
                out.push_str(" --ignore-submodules=all");
            }
        }
        for redirect in &self.redirects {
            redirect.render(out);
        }
    }
}

fn is_found_elsewhere(folder: &str) -> bool {
    !folder.is_empty() && !folder.starts_with(['/', '.', '-'])
}

impl Redirect {
    fn render(&self, out: &mut String) {
        let number = |stream: &Stream| match stream {
            Stream::Input => 0,
            Stream::Output => 1,
            Stream::Error => 2,
        };
        match self {
            Self::Read(from) => out.push_str(&format!(" < {}", quoted(&from.text))),
            Self::Write { from, to, append } => {
                let sign = if *append { ">>" } else { ">" };
                out.push_str(&format!(" {}{sign} {}", number(from), quoted(&to.text)));
            }
            Self::Join { from, to } => out.push_str(&format!(" {}>&{}", number(from), number(to))),
        }
    }
}

/// Plain where every shell takes each character for itself.
fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'+' | b',' | b'@' | b':' | b'-');
    let rest = |b: u8| plain(b) || matches!(b, b'=' | b'%');
    let bytes = text.as_bytes();
    if bytes.first().is_some_and(|&b| plain(b)) && bytes.iter().all(|&b| rest(b)) || text == "[" || text == "]" {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
