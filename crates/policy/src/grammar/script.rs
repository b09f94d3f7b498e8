//! The tree as a list of simple commands with the folder each runs in, which is what rules are tried on.

use super::tree::{Command, Join, List, Redirect, Word};
use crate::shell::{self, Assignment, Certainty, Place, Script, SimpleCommand};

impl List {
    pub(crate) fn script(&self) -> Script {
        let mut commands = Vec::new();
        let mut place = Place::default();
        // Where a chain of `&&` and `||` may have been left.
        let mut seen = place.clone();
        for (join, pipeline) in &self.items {
            match join {
                Join::Then => {
                    place = seen.or(&place);
                    seen = place.clone();
                }
                Join::And => seen = seen.or(&place),
                Join::Or => {
                    seen = seen.or(&place);
                    place = seen.clone();
                }
            }
            let before = place.clone();
            let alone = pipeline.commands.len() == 1 && !pipeline.negated;
            for command in &pipeline.commands {
                commands.push(command.simple(&before));
                place = if alone { after(command, &before) } else { before.or(&after(command, &before)) };
            }
        }
        Script { commands, opaque: false }
    }
}

/// The folder after it has succeeded.
fn after(command: &Command, before: &Place) -> Place {
    let words: Vec<shell::Word> = command.words.iter().map(Word::shell).collect();
    let names = |word: &Word| matches!(word.text.as_str(), "cd" | "pushd" | "popd");
    match command.words.first().map(|name| name.text.as_str()) {
        Some("cd") => before.after_cd(&words[1..]),
        Some("pushd" | "popd") => Place::UNKNOWN,
        Some("command" | "builtin") if command.words.iter().any(names) => Place::UNKNOWN,
        _ => before.clone(),
    }
}

impl Command {
    fn simple(&self, place: &Place) -> SimpleCommand {
        let words: Vec<shell::Word> = self.words.iter().map(Word::shell).collect();
        let raw: Vec<&str> = self.words.iter().map(|word| word.raw.as_str()).collect();
        let assignments = self
            .variables
            .iter()
            .map(|(name, value)| Assignment { name: name.clone(), raw: format!("{name}={value}") })
            .collect();
        let redirects = self.redirects.iter().filter_map(|redirect| match redirect {
            Redirect::Read(from) => Some(shell::Redirect { target: from.shell(), write: false }),
            Redirect::Write { to, .. } => Some(shell::Redirect { target: to.shell(), write: true }),
            Redirect::Join { .. } => None,
        });
        SimpleCommand {
            text: raw.join(" "),
            words,
            assignments,
            redirects: redirects.collect(),
            place: place.clone(),
            opaque: false,
        }
    }
}

impl Word {
    fn shell(&self) -> shell::Word {
        let certainty = if self.glob { Certainty::Glob } else { Certainty::Exact };
        shell::Word { raw: self.raw.clone(), text: self.text.clone(), certainty }
    }
}
