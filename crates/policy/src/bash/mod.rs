//! May this shell command run? Every part of it must be allowed; any part of it can deny.
//!
//! The order is that of the contract: deny rules, ask rules, what a person must approve, the mode, allow
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
mod judge;
mod locate;
mod protect;
mod restrict;
mod scan;
mod unseen;
mod wrappers;
mod writers;

pub use excluded::Exclusions;

use wire::PermissionMode;

use crate::call::{Decision, Policy, Resolve, Verdict};
use crate::grammar::{self, Disarm, List as Tree};
use crate::pattern::List;
use crate::programs;
use crate::shell::{self, Script};

use judge::{Judge, Part, blocked};
use locate::Locator;

/// Whether a judgement depends on what this word means: a program that is known here, a wrapper that rules see
/// through, or a command of the shell itself. Nothing may give such a word another meaning.
pub fn is_judged_name(name: &str) -> bool {
    grammar::BUILTINS.contains(&name)
        || builtins::is_stateful(name)
        || wrappers::find(name).is_some_and(|wrapper| wrapper.transparent)
        || programs::is_known(name)
}

/// Whether a text that was written anew from its tree starts nothing but programs by `command`, and commands of the shell
/// itself. So every command is written that was allowed without a rule.
pub fn runs_plain_programs(text: &str) -> bool {
    let is_plain = |word: &str| grammar::BUILTINS.contains(&word);
    grammar::parse(text).is_ok_and(|tree| {
        let commands = tree.items.iter().flat_map(|(_, pipeline)| &pipeline.commands);
        commands.into_iter().all(|command| command.words.first().is_none_or(|word| is_plain(&word.text)))
    })
}

pub(crate) fn decide(policy: &Policy, tool: &str, text: &str, fs: &dyn Resolve) -> Decision {
    let judge = Judge { policy, tool, text, locator: Locator::new(policy, fs) };
    if tool == crate::names::POWER_SHELL.name {
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

impl Judge<'_> {
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

    /// What a person must approve, whatever is allowed.
    fn guarded(&self, parts: &[Part]) -> Option<Decision> {
        let path = parts.iter().find_map(|part| self.writes_protected(part))?;
        let reason = format!("{} is obeyed by other programs, so writing it is asked first.", path.display());
        Some(Decision::ask("safety", reason).at(&path))
    }
}

fn bypassed() -> Decision {
    Decision::allow("mode", "bypassPermissions runs every command that no rule forbids.")
}
