//! May this shell command run? Every part of it must be allowed; any part of it can deny.
//!
//! The order is that of the contract: deny rules, ask rules, what is never waved through, the mode, allow
//! rules and the read-only set. Deliberately absent: running or rewriting commands.

mod argv;
mod excluded;
mod files;
mod git;
mod locate;
mod scan;
mod sed;
mod unseen;
mod variables;
mod wrappers;
mod writers;

pub use excluded::Exclusions;

use std::path::PathBuf;

use wire::PermissionMode;

use crate::call::{Decision, PathFact, Policy, Resolve, Verdict};
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
    /// Files that stand among the arguments of a program not known here. It may read them.
    named: Vec<PathFact>,
}

struct Touch {
    access: Access,
    /// Written by the shell for the command, whatever the command is.
    redirect: bool,
    glob: bool,
    facts: Option<Vec<PathFact>>,
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
    match shell::analyse(text) {
        Ok(script) => judge.script(&script),
        Err(error) => judge.unreadable(&error.to_string()),
    }
}

impl<'a> Judge<'a> {
    fn script(&self, script: &Script) -> Decision {
        let parts: Vec<Part> = script.commands.iter().map(|command| self.part(command)).collect();
        let mut suspects = argv::Suspects::default();
        script.commands.iter().for_each(|command| argv::suspects(command, &mut suspects));
        suspects.texts.push(self.text.trim().to_owned());
        if let Some(decision) = self.restricted(&parts, &suspects.texts) {
            return decision;
        }
        let uncertain = suspects.cut || script.opaque || script.commands.iter().any(|command| command.opaque);
        if uncertain && self.command_rules() {
            return Decision::ask(
                "unparsable",
                "What this command runs is known only when it runs, and rules restrict commands.",
            );
        }
        if let Some(path) = parts.iter().find_map(|part| self.removes_critical(part)) {
            let reason = format!("Removing {} is never approved without a person.", path.display());
            return Decision::ask("safety", reason).at(&path);
        }
        if self.policy.mode == PermissionMode::BypassPermissions {
            return Decision::allow("mode", "bypassPermissions runs every command that no rule forbids.");
        }
        if let Some(path) = parts.iter().find_map(|part| self.writes_protected(part)) {
            let reason = format!("{} is obeyed by other programs, so writing it is asked first.", path.display());
            return Decision::ask("safety", reason).at(&path);
        }
        if self.policy.mode == PermissionMode::Plan {
            return self.plan(script, &parts);
        }
        if let Some(rule) = self.whole() {
            return Decision::by_rule(Verdict::Allow, rule);
        }
        if script.opaque {
            return Decision::ask("unparsable", "This command can run code that its text does not show.");
        }
        self.every_part(&parts)
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
        let restricted = self.command_rules()
            || paths::restricts_paths(self.policy, Access::Read)
            || paths::restricts_paths(self.policy, Access::Write);
        if !restricted {
            if self.policy.mode == PermissionMode::BypassPermissions {
                return Decision::allow("mode", "bypassPermissions runs every command that no rule forbids.");
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
        // Needed only where a rule may deny one of them.
        let unknown = footprint.is_none() && paths::restricts_paths(self.policy, Access::Read);
        let arguments = command.words.iter().skip(1).filter(|_| unknown);
        let named = arguments.flat_map(|word| self.locator.named(word, &command.place)).collect();
        Part { command, layers, footprint, touches, named }
    }

    fn touch(&self, word: &Word, access: Access, command: &SimpleCommand, redirect: bool) -> Touch {
        let facts = self.locator.locate(word, &command.place, access);
        Touch { access, redirect, glob: word.certainty == Certainty::Glob, facts }
    }

    // --- what forbids -----------------------------------------------------------------------------

    fn restricted(&self, parts: &[Part], suspects: &[String]) -> Option<Decision> {
        for (list, verdict) in [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)] {
            if let Some(rule) = self.command_rule(list, suspects) {
                return Some(Decision::by_rule(verdict, rule));
            }
            for part in parts {
                if let Some((rule, path)) = self.rule_on_files(list, part) {
                    return Some(Decision::by_rule(verdict, rule).at(&path));
                }
            }
        }
        let facts = || parts.iter().flat_map(|part| touched(part).chain(&part.named));
        paths::by_another_name(self.policy, self.locator.fs(), facts())
    }

    /// The first rule about a file that this part may touch, and the file.
    fn rule_on_files(&self, list: List, part: &Part) -> Option<(&'a Rule, PathBuf)> {
        let (whole, recursive) = part.footprint.as_ref().map_or((false, true), |f| (f.whole, f.whole || f.recursive));
        touched(part).chain(&part.named).find_map(|fact| {
            let rule = paths::path_rule(self.policy, list, fact);
            let rule = rule.or_else(|| self.locator.rule_on_contents(list, fact).filter(|_| recursive));
            // Moved or copied as a whole, a file is no longer where the rule says it is.
            let rule = rule.or_else(|| if whole { self.locator.rule_on_any_below(list, fact) } else { None });
            Some((rule?, fact.given.clone()))
        })
    }

    fn command_rule(&self, list: List, suspects: &[String]) -> Option<&'a Rule> {
        let rules = self.policy.rules.list(list).iter().filter(|rule| rule.names(self.tool, list));
        rules.into_iter().find(|rule| match rule.specifier.as_ref().map(|s| &s.kind) {
            Some(Kind::Command(pattern)) => suspects.iter().any(|text| pattern.matches(text)),
            _ => false,
        })
    }

    /// Whether some ask or deny rule looks at the text of commands.
    fn command_rules(&self) -> bool {
        [List::Ask, List::Deny].into_iter().any(|list| {
            self.policy.rules.list(list).iter().any(|rule| rule.specifier.is_some() && rule.names(self.tool, list))
        })
    }

    fn removes_critical(&self, part: &Part) -> Option<PathBuf> {
        let words = &part.command.words;
        let at = words.iter().position(|word| matches!(argv::base_name(&word.text), "rm" | "rmdir"))?;
        let wrapped = part.layers.len() > 1 || at == 0 || argv::runs_inside(words, at);
        let operands = words[at + 1..].iter().filter(|word| !word.text.starts_with('-'));
        operands.filter(|_| wrapped).find_map(|word| self.locator.critical(word, &part.command.place))
    }

    fn writes_protected(&self, part: &Part) -> Option<PathBuf> {
        let writes = part.touches.iter().filter(|touch| touch.access == Access::Write);
        let mut facts = writes.flat_map(|touch| touch.facts.iter().flatten());
        facts.find(|fact| paths::protected(self.policy, fact)).map(|fact| fact.given.clone())
    }

    // --- what allows ------------------------------------------------------------------------------

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

    fn plan(&self, script: &Script, parts: &[Part]) -> Decision {
        if !script.opaque && parts.iter().all(|part| self.read_only(part)) {
            return Decision::allow("readOnly", "Every part of this command only reads.");
        }
        let decision = Decision::ask("mode", "Plan mode runs only commands that read.");
        match parts.iter().find_map(|part| blocked(part)) {
            Some(path) => decision.at(&path),
            None => decision,
        }
    }

    fn every_part(&self, parts: &[Part]) -> Decision {
        let mut rule: Option<&Rule> = None;
        let mut edits = false;
        for part in parts {
            match self.grant(part) {
                Some(Grant::ReadOnly) => {}
                Some(Grant::Edit) => edits = true,
                Some(Grant::Rule(granted)) => rule = Some(granted),
                None => return self.refuse(part),
            }
        }
        match rule {
            Some(rule) => Decision::by_rule(Verdict::Allow, rule),
            None if edits => Decision::allow("mode", "acceptEdits covers these edits in the workspace."),
            None => Decision::allow("readOnly", "Every part of this command only reads."),
        }
    }

    fn grant(&self, part: &Part) -> Option<Grant<'a>> {
        let redirected = part.touches.iter().filter(|touch| touch.redirect);
        let mut edits = false;
        for touch in redirected {
            if !self.touch_allowed(touch) {
                return None;
            }
            edits |= touch.access == Access::Write;
        }
        let by_redirect = |grant| if edits { Grant::Edit } else { grant };
        if self.read_only_command(part) {
            return Some(by_redirect(Grant::ReadOnly));
        }
        if let Some(rule) = self.part_rule(part) {
            return Some(Grant::Rule(rule));
        }
        let accepts = self.policy.mode == PermissionMode::AcceptEdits
            && safe_assignments(part)
            && part.footprint.as_ref().is_some_and(|footprint| footprint.edits)
            && self.folders_are_clear(part)
            && is_plain_name(part)
            && part.touches.iter().any(|touch| !touch.redirect)
            && part.touches.iter().all(|touch| self.edit_inside(touch));
        accepts.then_some(Grant::Edit)
    }

    fn read_only(&self, part: &Part) -> bool {
        self.read_only_command(part)
            && part.touches.iter().all(|touch| touch.access == Access::Read && self.touch_allowed(touch))
    }

    fn read_only_command(&self, part: &Part) -> bool {
        if !safe_assignments(part) {
            return false;
        }
        if part.command.words.is_empty() {
            return true;
        }
        let Some(footprint) = &part.footprint else { return false };
        let restricted = paths::restricts_paths(self.policy, Access::Read);
        is_plain_name(part)
            && footprint.read_only
            && !(footprint.recursive && restricted)
            && self.folders_are_clear(part)
            && !(is_git(part) && self.locator.in_another_repository(&part.command.place))
            && part.touches.iter().filter(|touch| !touch.redirect).all(|touch| self.touch_allowed(touch))
    }

    /// Whether nothing below the folders that it takes in whole is a way out of the workspace or around a rule.
    fn folders_are_clear(&self, part: &Part) -> bool {
        let Some(footprint) = &part.footprint else { return true };
        let touches = part.touches.iter().filter(|touch| !touch.redirect);
        let ruled = footprint.whole && paths::restricts_paths(self.policy, Access::Read);
        // A copy opens what lies where it writes; of what it reads it copies the links themselves.
        let opens = |touch: &Touch| footprint.follows && (!footprint.edits || touch.access == Access::Write);
        touches.into_iter().all(|touch| {
            let clear = |fact: &PathFact| {
                (!ruled || self.locator.is_surveyable(fact))
                    && (!opens(touch) || self.locator.links_stay_inside(&fact.real))
            };
            touch.facts.iter().flatten().all(clear)
        })
    }

    /// Whether this one file may be touched without a question.
    fn touch_allowed(&self, touch: &Touch) -> bool {
        let Some(facts) = &touch.facts else { return false };
        if touch.glob && paths::restricts_paths(self.policy, touch.access) {
            return false;
        }
        let accepts = touch.access == Access::Read || self.policy.mode == PermissionMode::AcceptEdits;
        facts.iter().all(|fact| {
            (accepts && paths::inside(self.policy, fact)) || paths::path_rule(self.policy, List::Allow, fact).is_some()
        })
    }

    fn edit_inside(&self, touch: &Touch) -> bool {
        !(touch.glob && paths::restricts_paths(self.policy, touch.access))
            && touch.facts.as_ref().is_some_and(|facts| facts.iter().all(|fact| paths::inside(self.policy, fact)))
    }

    fn part_rule(&self, part: &Part) -> Option<&'a Rule> {
        if part.command.opaque || part.command.words.is_empty() || !safe_assignments(part) {
            return None;
        }
        // Rules about files also hold inside commands; a file that cannot be named cannot be cleared.
        let unclear =
            |touch: &Touch| (touch.facts.is_none() || touch.glob) && paths::restricts_paths(self.policy, touch.access);
        let recursive = part.footprint.as_ref().is_some_and(|footprint| footprint.recursive);
        if part.touches.iter().any(unclear) || (recursive && paths::restricts_paths(self.policy, Access::Read)) {
            return None;
        }
        let sent_elsewhere = |words: &Vec<Word>| {
            let is_git = words.first().is_some_and(|name| name.raw == "git");
            is_git && git::directories(&words[1..]).any(|word| !self.locator.is_inside(word, &part.command.place))
        };
        if part.layers.iter().any(sent_elsewhere) {
            return None;
        }
        let rules = self.policy.rules.allow.iter().filter(|rule| rule.names(self.tool, List::Allow));
        rules.into_iter().find(|rule| match rule.specifier.as_ref().map(|s| &s.kind) {
            Some(Kind::Command(pattern)) => part.layers.iter().any(|words| {
                let covered = pattern.is_exact() || !argv::beyond_wildcards(words, pattern.program());
                covered && pattern.matches(&argv::raw_text(words))
            }),
            _ => false,
        })
    }

    fn refuse(&self, part: &Part) -> Decision {
        let text = if part.command.text.is_empty() { self.text.trim() } else { &part.command.text };
        let shown: String = text.chars().take(SHOWN).collect();
        let mode = self.policy.mode.as_str();
        let decision = Decision::ask("mode", format!("No rule allows `{shown}`, and {mode} mode asks before it runs."));
        match blocked(part) {
            Some(path) => decision.at(&path),
            None => decision,
        }
    }
}

/// Of a command in a reason: enough to recognise it.
const SHOWN: usize = 200;

enum Grant<'a> {
    ReadOnly,
    Edit,
    Rule(&'a Rule),
}

fn is_git(part: &Part) -> bool {
    part.layers.last().and_then(|words| words.first()).is_some_and(|name| name.raw == "git")
}

fn safe_assignments(part: &Part) -> bool {
    let safe = if part.command.words.is_empty() { variables::may_be_set } else { variables::may_be_given };
    part.command.assignments.iter().all(|assignment| safe(&assignment.name))
}

fn touched<'p>(part: &'p Part) -> impl Iterator<Item = &'p PathFact> {
    part.touches.iter().flat_map(|touch| touch.facts.iter().flatten())
}

/// The name as typed: no quotes, no path, so that what is looked up is what was read.
fn is_plain_name(part: &Part) -> bool {
    let plain = |words: &Vec<Word>| words.first().is_some_and(|name| name.raw == name.text && !name.raw.contains('/'));
    !part.command.opaque && part.layers.iter().all(plain)
}

fn blocked(part: &Part) -> Option<PathBuf> {
    let located = |access: Option<Access>| {
        let touches = part.touches.iter().filter(move |touch| access.is_none_or(|access| touch.access == access));
        touches.flat_map(|touch| touch.facts.iter().flatten()).map(|fact| fact.given.clone()).next()
    };
    located(Some(Access::Write)).or_else(|| located(None))
}
