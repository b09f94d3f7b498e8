//! The reasons to allow a command of the grammar: each part by a rule, as a program that only reads, or by the mode.

use crate::call::{Decision, PathTarget, Verdict};
use crate::grammar::{self, Disarm, List as Tree};
use crate::paths::{self, Access};
use crate::pattern::List;
use crate::programs::{self, Arg, Effects};
use crate::rule::{Kind, Rule};
use crate::shell::{Certainty, Word};
use wire::PermissionMode;

use super::judge::{Judge, Part, Touch, blocked};
use super::{argv, builtins, git, locate};

/// Of a command in a reason: enough to recognise it.
const SHOWN: usize = 200;

#[derive(Clone, Copy)]
enum Grant<'a> {
    ReadOnly,
    Edit,
    Rule(&'a Rule),
}

/// What is known of a program's files, each as where it is.
struct Seen {
    reads: Vec<Touch>,
    writes: Vec<Touch>,
    tree: bool,
    follows: bool,
    git: bool,
}

impl<'a> Judge<'a> {
    /// Every part of it, or none. The text to run is written from the same tree.
    pub(super) fn every_part(&self, tree: &Tree, parts: &[Part]) -> Decision {
        let plan = self.policy.mode == PermissionMode::Plan;
        let mut grants = Vec::with_capacity(parts.len());
        for part in parts {
            match self.grant(part, plan) {
                Some(grant) => grants.push(grant),
                None => return self.refuse(part, plan),
            }
        }
        let reads = |grant: &Grant| matches!(grant, Grant::ReadOnly);
        let only_reads = grants.iter().all(reads);
        // What is made on the way could turn a pattern into an option, or a folder into a repository. In a pipeline
        // that may be made by any part of it.
        let piped = tree.items.iter().any(|(_, pipeline)| pipeline.commands.len() > 1);
        let made =
            |at: usize| grants.iter().enumerate().any(|(i, grant)| (i < at || (piped && i != at)) && !reads(grant));
        if let Some((_, part)) = parts.iter().enumerate().find(|(at, part)| self.depends_on_disk(part) && made(*at)) {
            return self.refuse(part, plan);
        }
        let mut at = grants.iter();
        let text = anchored(tree, &grants).render(|_| match at.next() {
            Some(Grant::Rule(_)) => Disarm::Repository,
            _ => Disarm::Program,
        });
        let rule = grants.iter().rev().find_map(|grant| if let Grant::Rule(rule) = grant { Some(*rule) } else { None });
        let decision = match rule {
            Some(rule) => Decision::by_rule(Verdict::Allow, rule),
            None if only_reads => Decision::allow("readOnly", "Every part of this command only reads."),
            None => {
                Decision::allow("mode", format!("{} covers these edits in the workspace.", self.policy.mode.as_str()))
            }
        };
        decision.running(text)
    }

    /// Whether what it means could be changed by a file that a part before it makes.
    fn depends_on_disk(&self, part: &Part) -> bool {
        let becomes_option =
            |word: &Word| word.certainty == Certainty::Glob && word.text.starts_with(['*', '?', '[', '-']);
        let words = &part.command.words;
        words.iter().any(becomes_option) || (is_git(part) && !self.locator.is_here(&part.command.place))
    }

    fn grant(&self, part: &Part, plan: bool) -> Option<Grant<'a>> {
        if !is_plain_name(part) || !safe_variables(part) {
            return None;
        }
        let mut edits = false;
        for touch in part.touches.iter().filter(|touch| touch.redirect) {
            if !self.touch_allowed(touch) || (plan && touch.access == Access::Write) {
                return None;
            }
            edits |= touch.access == Access::Write;
        }
        let seen = self.seen(part);
        if seen.as_ref().is_some_and(|seen| self.only_reads(part, seen)) {
            return Some(if edits { Grant::Edit } else { Grant::ReadOnly });
        }
        if plan || self.turns_into_option(part) {
            return None;
        }
        let writes_unseen = seen.is_none() && self.names_protected(part);
        if let Some(rule) = self.part_rule(part).filter(|_| !writes_unseen) {
            return Some(Grant::Rule(rule));
        }
        let accepts = matches!(self.policy.mode, PermissionMode::AcceptEdits | PermissionMode::Auto)
            && seen.is_some_and(|seen| self.only_edits(part, &seen))
            && part.layers.len() == 1;
        accepts.then_some(Grant::Edit)
    }

    /// What the program in it does, if that is known.
    fn seen(&self, part: &Part) -> Option<Seen> {
        let (name, args) = part.layers.last()?.split_first()?;
        if part.layers.iter().any(|words| words.first().is_some_and(|name| name.text == "xargs")) {
            return None;
        }
        let word = |arg: &Arg| Word {
            raw: arg.text.clone(),
            text: arg.text.clone(),
            certainty: if arg.glob { Certainty::Glob } else { Certainty::Exact },
        };
        let touches = |words: Vec<Word>, access: Access| -> Vec<Touch> {
            let named = words.into_iter().filter(|word| !locate::is_sink(word, access));
            named.map(|word| self.touch(&word, access, part.command, false)).collect()
        };
        if let Some(reads) = builtins::reads(&name.text, args) {
            let reads = touches(reads, Access::Read);
            return Some(Seen { reads, writes: Vec::new(), tree: false, follows: false, git: false });
        }
        let given: Vec<Arg> =
            args.iter().map(|word| Arg { text: word.text.clone(), glob: word.certainty == Certainty::Glob }).collect();
        let given = if part.layers.len() == 1 { programs::anchored(&name.text, &given) } else { given };
        let Effects { reads, writes, tree, follows, cwd, git } = programs::effects(&name.text, &given)?;
        let mut reads: Vec<Word> = reads.iter().map(word).collect();
        if cwd {
            reads.push(word(&Arg { text: ".".to_owned(), glob: false }));
        }
        let writes = writes.iter().map(word).collect();
        Some(Seen { reads: touches(reads, Access::Read), writes: touches(writes, Access::Write), tree, follows, git })
    }

    fn only_reads(&self, part: &Part, seen: &Seen) -> bool {
        seen.writes.is_empty()
            && seen.reads.iter().all(|touch| self.touch_allowed(touch))
            && !(seen.tree && paths::restricts_paths(self.policy, Access::Read))
            && !(seen.git && self.locator.in_another_repository(&part.command.place))
            && (!seen.follows || seen.reads.iter().all(|touch| self.links_stay_inside(touch)))
            && self.folders_are_clear(part)
    }

    fn links_stay_inside(&self, touch: &Touch) -> bool {
        touch.facts.iter().flatten().all(|fact| self.locator.links_stay_inside(&fact.real))
    }

    fn only_edits(&self, part: &Part, seen: &Seen) -> bool {
        let name = part.command.words.first().map(|name| name.text.as_str());
        let edits = matches!(name, Some("mkdir" | "touch" | "rm" | "rmdir" | "mv" | "cp" | "sed"));
        let old = part.touches.iter().filter(|touch| !touch.redirect);
        let protected = |touch: &Touch| touch.facts.iter().flatten().any(|fact| paths::protected(self.policy, fact));
        edits
            && !seen.writes.is_empty()
            && part.footprint.as_ref().is_some_and(|footprint| footprint.edits)
            && seen.reads.iter().chain(&seen.writes).chain(old).all(|touch| self.edit_inside(touch))
            && !seen.writes.iter().any(protected)
            && self.folders_are_clear(part)
            && self.relocation_is_known(part)
    }

    fn edit_inside(&self, touch: &Touch) -> bool {
        !(touch.glob && paths::restricts_paths(self.policy, touch.access))
            && touch.facts.as_ref().is_some_and(|facts| facts.iter().all(|fact| paths::inside(self.policy, fact)))
    }

    /// Whether nothing below the folders that it takes in whole is a way out of the workspace or around a rule.
    fn folders_are_clear(&self, part: &Part) -> bool {
        let Some(footprint) = &part.footprint else { return true };
        let touches = part.touches.iter().filter(|touch| !touch.redirect);
        let ruled = footprint.whole && paths::restricts_paths(self.policy, Access::Read);
        // A copy opens what lies where it writes; of what it reads it copies the links themselves.
        let opens = |touch: &Touch| footprint.follows && (!footprint.edits || touch.access == Access::Write);
        touches.into_iter().all(|touch| {
            let clear = |fact: &PathTarget| {
                (!ruled || self.locator.is_surveyable(fact))
                    && (!opens(touch) || self.locator.links_stay_inside(&fact.real))
            };
            touch.facts.iter().flatten().all(clear)
        })
    }

    /// Whether a pattern stands for a file whose name would be read as an option.
    fn turns_into_option(&self, part: &Part) -> bool {
        let patterns = part.command.words.iter().filter(|word| word.certainty == Certainty::Glob);
        patterns
            .into_iter()
            .any(|word| !word.text.contains('/') && self.locator.matches_option(word, &part.command.place))
    }

    fn part_rule(&self, part: &Part) -> Option<&'a Rule> {
        let stateful = |words: &Vec<Word>| words.first().is_none_or(|name| builtins::is_stateful(&name.text));
        let hides = |words: &Vec<Word>| words.first().is_some_and(|name| name.text == "xargs");
        if part.layers.iter().any(|words| stateful(words) || hides(words)) {
            return None;
        }
        // Rules about files also hold inside commands; a file that cannot be named cannot be cleared.
        let unclear =
            |touch: &Touch| (touch.facts.is_none() || touch.glob) && paths::restricts_paths(self.policy, touch.access);
        let recursive = part.footprint.as_ref().is_some_and(|footprint| footprint.recursive);
        if part.touches.iter().any(unclear) || (recursive && paths::restricts_paths(self.policy, Access::Read)) {
            return None;
        }
        if is_git(part) && !self.git_is_ours(part) {
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

    /// Whether git works on the repository of the workspace, and a command that reads does no more than that.
    fn git_is_ours(&self, part: &Part) -> bool {
        let Some(words) = part.layers.last() else { return false };
        let place = &part.command.place;
        let plain = part.layers.len() == 1 || self.locator.is_here(place);
        plain
            && !git::reads_and_more(&words[1..])
            && git::directories(&words[1..]).all(|word| self.locator.is_in_repository(word, place))
            && !self.locator.is_foreign_repository(place)
    }

    fn refuse(&self, part: &Part, plan: bool) -> Decision {
        let shown: String = part.command.text.chars().take(SHOWN).collect();
        let mode = self.policy.mode.as_str();
        let decision = if plan {
            Decision::ask("mode", "Plan mode runs only commands that read.")
        } else {
            Decision::ask("mode", format!("No rule allows `{shown}`, and {mode} mode asks before it runs."))
        };
        match blocked(part) {
            Some(path) => decision.at(&path),
            None => decision,
        }
    }
}

/// The tree with `./` before the patterns that could otherwise become options, as they were judged.
fn anchored(tree: &Tree, grants: &[Grant]) -> Tree {
    let mut tree = tree.clone();
    let commands = tree.items.iter_mut().flat_map(|(_, pipeline)| &mut pipeline.commands);
    for (command, _) in commands.zip(grants).filter(|(_, grant)| !matches!(grant, Grant::Rule(_))) {
        let Some((name, args)) = command.words.split_first_mut() else { continue };
        let given: Vec<Arg> = args.iter().map(|word| Arg { text: word.text.clone(), glob: word.glob }).collect();
        for (word, arg) in args.iter_mut().zip(programs::anchored(&name.text, &given)) {
            word.text = arg.text;
        }
    }
    tree
}

fn is_git(part: &Part) -> bool {
    part.layers.last().and_then(|words| words.first()).is_some_and(|name| name.text == "git")
}

/// The name as typed: no quotes, no path, so that what is looked up is what was read.
fn is_plain_name(part: &Part) -> bool {
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-' | b'/' | b':' | b'@');
    let plain = |words: &Vec<Word>| {
        words.first().is_some_and(|name| name.raw == name.text && (name.text == "[" || name.text.bytes().all(letters)))
    };
    part.layers.iter().all(plain)
}

fn safe_variables(part: &Part) -> bool {
    let given = |raw: &str| raw.split_once('=').is_some_and(|(name, value)| grammar::may_be_given(name, value));
    part.command.assignments.iter().all(|assignment| given(&assignment.raw))
}
