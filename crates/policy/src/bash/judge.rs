//! One command under judgement: its parts, and the files that each of them touches.

use std::path::PathBuf;

use super::argv;
use super::files::{self, Footprint};
use super::locate::{self, Locator};
use crate::call::{PathTarget, Policy};
use crate::paths::{self, Access};
use crate::pattern::List;
use crate::rule::{Kind, Rule};
use crate::shell::{Certainty, SimpleCommand, Word};

/// One part of a command, with what is known about it.
pub(super) struct Part<'a> {
    pub(super) command: &'a SimpleCommand,
    /// The command, then what its wrappers start.
    pub(super) layers: Vec<Vec<Word>>,
    pub(super) footprint: Option<Footprint>,
    /// Files it touches, redirections included. `None` in place of facts: cannot be told.
    pub(super) touches: Vec<Touch>,
    /// Files that stand among the arguments, whatever they are there for. It may read them.
    pub(super) named: Vec<PathTarget>,
}

pub(super) struct Touch {
    pub(super) access: Access,
    /// Written by the shell for the command, whatever the command is.
    pub(super) redirect: bool,
    pub(super) glob: bool,
    pub(super) facts: Option<Vec<PathTarget>>,
}

pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy,
    pub(super) tool: &'a str,
    pub(super) text: &'a str,
    pub(super) locator: Locator<'a>,
}

impl<'a> Judge<'a> {
    pub(super) fn part<'c>(&self, command: &'c SimpleCommand) -> Part<'c> {
        let layers = argv::layers(&command.words);
        let footprint = layers.iter().rev().find_map(|words| files::footprint(words));
        let mut touches: Vec<Touch> = Vec::new();
        for redirect in &command.redirects {
            let access = if redirect.write { Access::Write } else { Access::Read };
            if locate::is_sink(&redirect.target, access) {
                continue;
            }
            touches.push(self.touch(&redirect.target, access, command, true));
            if redirect.target.raw == "!" {
                // zsh forces a write with `>!`; the file is the next word then.
                touches.push(Touch { access, redirect: true, glob: false, facts: None });
            }
        }
        for used in footprint.iter().flat_map(|footprint| &footprint.uses) {
            if !locate::is_sink(&used.word, used.access) {
                touches.push(self.touch(&used.word, used.access, command, false));
            }
        }
        // Needed only where a rule may deny one of them. Of a known program, too: its options may name files.
        let text = footprint.as_ref().is_some_and(|footprint| footprint.text);
        let unknown = !text && paths::restricts_paths(self.policy, Access::Read);
        let arguments = command.words.iter().skip(1).filter(|_| unknown);
        let named = arguments.flat_map(|word| self.locator.named(word, &command.place)).collect();
        Part { command, layers, footprint, touches, named }
    }

    pub(super) fn touch(&self, word: &Word, access: Access, command: &SimpleCommand, redirect: bool) -> Touch {
        let facts = self.locator.locate(word, &command.place, access);
        Touch { access, redirect, glob: word.certainty == Certainty::Glob, facts }
    }

    /// A rule for the tool as a whole, or for exactly this text.
    pub(super) fn whole(&self) -> Option<&'a Rule> {
        self.policy.rules.allow.iter().filter(|rule| rule.names(self.tool, List::Allow)).find(|rule| {
            match rule.specifier.as_ref().map(|s| &s.kind) {
                None => true,
                Some(Kind::Command(pattern)) => pattern.is_exact() && pattern.matches(self.text.trim()),
                Some(_) => false,
            }
        })
    }
}

pub(super) fn blocked(part: &Part) -> Option<PathBuf> {
    let located = |access: Option<Access>| {
        let touches = part.touches.iter().filter(move |touch| access.is_none_or(|access| touch.access == access));
        touches.flat_map(|touch| touch.facts.iter().flatten()).map(|fact| fact.given.clone()).next()
    };
    located(Some(Access::Write)).or_else(|| located(None))
}
