//! May this shell command run? Every part of it must be allowed; any part of it can deny.
//!
//! The order is that of the contract: deny rules, ask rules, what is never waved through, the mode, allow
//! rules and the read-only set. Only what is in the small grammar ([`crate::grammar`]) can be allowed by its parts, and
//! then the decision carries the text to run. Of everything else the full parser and the plain text are searched for
//! what rules forbid. Deliberately absent: running commands.

mod allow;
mod argv;
mod builtins;
mod excluded;
mod files;
mod git;
mod hidden;
mod locate;
mod protect;
mod restrict;
mod scan;
mod unseen;
mod wrappers;
mod writers;

pub use excluded::Exclusions;

use std::path::PathBuf;

use wire::PermissionMode;

use crate::call::{Decision, PathTarget, Policy, Resolve, Verdict};
use crate::grammar::{self, Disarm, List as Tree};
use crate::paths::{self, Access};
use crate::rule::{Kind, List, Rule};
use crate::shell::{self, Certainty, Script, SimpleCommand, Word};

use files::Footprint;
use locate::Locator;

/// One part of a command, with what is known about it.
struct Part<'a> {
    command: &'a SimpleCommand,
    /// The command, then what its wrappers start.
    layers: Vec<Vec<Word>>,
    footprint: Option<Footprint>,
    /// Files it touches, redirections included. `None` in place of facts: cannot be told.
    touches: Vec<Touch>,
    /// Files that stand among the arguments, whatever they are there for. It may read them.
    named: Vec<PathTarget>,
}

struct Touch {
    access: Access,
    /// Written by the shell for the command, whatever the command is.
    redirect: bool,
    glob: bool,
    facts: Option<Vec<PathTarget>>,
}

struct Judge<'a> {
    policy: &'a Policy,
    tool: &'a str,
    text: &'a str,
    locator: Locator<'a>,
}

pub(crate) fn decide(policy: &Policy, tool: &str, text: &str, fs: &dyn Resolve) -> Decision {
    let judge = Judge { policy, tool, text, locator: Locator::new(policy, fs) };
    if tool == "PowerShell" {
        return judge.unreadable("PowerShell is not analysed here");
    }
    let outside = match grammar::parse(text) {
        Ok(tree) => return judge.tree(&tree),
        Err(outside) => outside,
    };
    match shell::analyse(text) {
        Ok(script) => judge.outside(&script, outside),
        Err(error) => judge.unreadable(&error.to_string()),
    }
}

impl<'a> Judge<'a> {
    /// In the grammar: what is judged is what runs.
    fn tree(&self, tree: &Tree) -> Decision {
        let script = tree.script();
        let parts: Vec<Part> = script.commands.iter().map(|command| self.part(command)).collect();
        if let Some(decision) = self.forbidden(&script, &parts, &[]) {
            return decision;
        }
        // Rules were tried on the tree, so the tree is what runs; where there are none the text runs as it is.
        let judged = || self.is_restricted().then(|| tree.render(|_| Disarm::No));
        if self.policy.mode == PermissionMode::BypassPermissions {
            return bypassed().running(judged());
        }
        if let Some(decision) = self.guarded(&parts) {
            return decision;
        }
        if self.policy.mode != PermissionMode::Plan
            && let Some(rule) = self.whole()
        {
            return Decision::by_rule(Verdict::Allow, rule).running(judged());
        }
        self.every_part(tree, &parts)
    }

    /// Readable, but more than the grammar holds: only a rule for the whole text or the mode allows it.
    fn outside(&self, script: &Script, why: grammar::Outside) -> Decision {
        let parts: Vec<Part> = script.commands.iter().map(|command| self.part(command)).collect();
        if let Some(decision) = self.forbidden(script, &parts, &scan::fragments(self.text)) {
            return decision;
        }
        if let Some(decision) = self.hidden_files(script, &parts) {
            return decision;
        }
        if self.policy.mode == PermissionMode::BypassPermissions {
            return bypassed();
        }
        if let Some(decision) = self.guarded(&parts) {
            return decision;
        }
        let decision = if self.policy.mode == PermissionMode::Plan {
            Decision::ask("mode", "Plan mode runs only commands that read.")
        } else if let Some(rule) = self.whole() {
            return Decision::by_rule(Verdict::Allow, rule);
        } else {
            Decision::ask("unparsable", format!("This command cannot be checked part by part: {why}."))
        };
        match parts.iter().find_map(blocked) {
            Some(path) => decision.at(&path),
            None => decision,
        }
    }

    /// Neither parsed nor split: rules are tried on anything that looks like a command in it.
    fn unreadable(&self, why: &str) -> Decision {
        let mut suspects = scan::fragments(self.text);
        suspects.push(self.text.trim().to_owned());
        for (list, verdict) in [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)] {
            if let Some(rule) = self.command_rule(list, &suspects) {
                return Decision::by_rule(verdict, rule);
            }
        }
        if !self.is_restricted() {
            if self.policy.mode == PermissionMode::BypassPermissions {
                return bypassed();
            }
            if let Some(rule) = self.whole().filter(|_| self.policy.mode != PermissionMode::Plan) {
                return Decision::by_rule(Verdict::Allow, rule);
            }
        }
        Decision::ask("unparsable", format!("This command cannot be checked: {why}."))
    }

    fn part<'c>(&self, command: &'c SimpleCommand) -> Part<'c> {
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

    fn touch(&self, word: &Word, access: Access, command: &SimpleCommand, redirect: bool) -> Touch {
        let facts = self.locator.locate(word, &command.place, access);
        Touch { access, redirect, glob: word.certainty == Certainty::Glob, facts }
    }

    /// What nobody waves through but a person, whatever is allowed.
    fn guarded(&self, parts: &[Part]) -> Option<Decision> {
        let path = parts.iter().find_map(|part| self.writes_protected(part))?;
        let reason = format!("{} is obeyed by other programs, so writing it is asked first.", path.display());
        Some(Decision::ask("safety", reason).at(&path))
    }

    /// A rule for the tool as a whole, or for exactly this text.
    fn whole(&self) -> Option<&'a Rule> {
        self.policy.rules.allow.iter().filter(|rule| rule.names(self.tool, List::Allow)).find(|rule| {
            match rule.specifier.as_ref().map(|s| &s.kind) {
                None => true,
                Some(Kind::Command(pattern)) => pattern.is_exact() && pattern.matches(self.text.trim()),
                Some(_) => false,
            }
        })
    }
}

fn bypassed() -> Decision {
    Decision::allow("mode", "bypassPermissions runs every command that no rule forbids.")
}

fn blocked(part: &Part) -> Option<PathBuf> {
    let located = |access: Option<Access>| {
        let touches = part.touches.iter().filter(move |touch| access.is_none_or(|access| touch.access == access));
        touches.flat_map(|touch| touch.facts.iter().flatten()).map(|fact| fact.given.clone()).next()
    };
    located(Some(Access::Write)).or_else(|| located(None))
}
