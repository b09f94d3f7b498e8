//! The reasons to forbid a command: deny and ask rules about its text and its files, and irreversible effects.

use std::path::PathBuf;

use super::judge::{Judge, Part};
use super::{argv, hidden, scan};
use crate::call::{Decision, PathTarget, Verdict};
use crate::paths::{self, Access};
use crate::pattern::List;
use crate::rule::{Kind, Rule};
use crate::shell::Script;

impl<'a> Judge<'a> {
    /// The first thing that forbids it, in every mode. `more`: texts that may be commands beside those that were found.
    pub(super) fn forbidden(&self, script: &Script, parts: &[Part], more: &[String]) -> Option<Decision> {
        let mut suspects = argv::Suspects::default();
        script.commands.iter().for_each(|command| argv::suspects(command, &mut suspects));
        suspects.texts.push(self.text.trim().to_owned());
        suspects.texts.extend_from_slice(more);
        for text in script.commands.iter().flat_map(|command| hidden::evaluated(&command.words)) {
            suspects.texts.extend(scan::fragments(text));
            suspects.cut = true;
        }
        if let Some(decision) = self.by_rule(parts, &suspects.texts) {
            return Some(decision);
        }
        let uncertain = suspects.cut || script.opaque || script.commands.iter().any(|command| command.opaque);
        let doubtful = !more.is_empty() && hidden::is_doubtful(self.text);
        if (uncertain || doubtful) && self.command_rules() {
            return Some(Decision::ask(
                "unparsable",
                "What this command runs is known only when it runs, and rules restrict commands.",
            ));
        }
        if let Some(decision) = self.run_by_another(parts) {
            return Some(decision);
        }
        let path = parts.iter().find_map(|part| self.removes_critical(part))?;
        let reason = format!("Removing {} is never approved without a person.", path.display());
        Some(Decision::ask("safety", reason).at(&path))
    }

    fn by_rule(&self, parts: &[Part], suspects: &[String]) -> Option<Decision> {
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
        paths::by_another_name(self.policy, self.locator.fs(), facts()).or_else(|| self.unnamed_files(parts))
    }

    /// A program that nothing is known about may run what stands among its arguments.
    fn run_by_another(&self, parts: &[Part]) -> Option<Decision> {
        if !self.command_rules() {
            return None;
        }
        let unknown = |part: &&Part| part.footprint.is_none() && !argv::is_known(&part.layers);
        let texts: Vec<String> =
            parts.iter().filter(unknown).flat_map(|part| hidden::commands_in(&part.command.words)).collect();
        let rule = [List::Deny, List::Ask].into_iter().find_map(|list| self.command_rule(list, &texts))?;
        let reason = format!("The rule {} restricts a command that may run here as an argument.", rule.text);
        Some(Decision { rule: Some(rule.text.clone()), ..Decision::ask("rule", reason) })
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

    pub(super) fn command_rule(&self, list: List, suspects: &[String]) -> Option<&'a Rule> {
        let rules = self.policy.rules.list(list).iter().filter(|rule| rule.names(self.tool, list));
        rules.into_iter().find(|rule| match rule.specifier.as_ref().map(|s| &s.kind) {
            Some(Kind::Command(pattern)) => suspects.iter().any(|text| pattern.matches(text)),
            _ => false,
        })
    }

    /// Whether some ask or deny rule looks at the text of commands.
    pub(super) fn command_rules(&self) -> bool {
        [List::Ask, List::Deny].into_iter().any(|list| {
            self.policy.rules.list(list).iter().any(|rule| rule.specifier.is_some() && rule.names(self.tool, list))
        })
    }

    /// Whether any ask or deny rule speaks of commands or files.
    pub(super) fn is_restricted(&self) -> bool {
        self.command_rules()
            || paths::restricts_paths(self.policy, Access::Read)
            || paths::restricts_paths(self.policy, Access::Write)
    }

    fn removes_critical(&self, part: &Part) -> Option<PathBuf> {
        let words = &part.command.words;
        let at = words.iter().position(|word| matches!(argv::base_name(&word.text), "rm" | "rmdir"))?;
        let wrapped = part.layers.len() > 1 || at == 0 || argv::runs_inside(words, at);
        let operands = words[at + 1..].iter().filter(|word| !word.text.starts_with('-'));
        operands.filter(|_| wrapped).find_map(|word| self.locator.critical(word, &part.command.place))
    }
}

fn touched<'p>(part: &'p Part) -> impl Iterator<Item = &'p PathTarget> {
    part.touches.iter().flat_map(|touch| touch.facts.iter().flatten())
}
