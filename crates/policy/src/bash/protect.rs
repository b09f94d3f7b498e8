//! Writes that make, change or take away a file that other programs obey, also by a detour: a folder that is renamed,
//! a file that lands in a folder under its own name, a backup with a suffix.

use std::path::{Path, PathBuf};

use super::judge::{Judge, Part, Touch};
use super::{argv, files, writers};
use crate::call::{Listing, PathTarget};
use crate::path_pattern::normalise;
use crate::paths::{self, Access};
use crate::shell::{Certainty, Word};
use crate::survey;

impl Judge<'_> {
    pub(super) fn writes_protected(&self, part: &Part) -> Option<PathBuf> {
        let writes = part.touches.iter().filter(|touch| touch.access == Access::Write);
        let mut facts = writes.flat_map(|touch| touch.facts.iter().flatten());
        let direct = facts.find(|fact| paths::protected(self.policy, fact)).map(|fact| fact.given.clone());
        let words = part.layers.last().map(Vec::as_slice).unwrap_or_default();
        direct
            .or_else(|| self.relocates_protected(part, words).1)
            .or_else(|| self.takes_away(part, words))
            .or_else(|| self.hands_protected(part, words))
    }

    /// Whether all that a copy or move takes along could be looked at.
    pub(super) fn relocation_is_known(&self, part: &Part) -> bool {
        let words = part.layers.last().map(Vec::as_slice).unwrap_or_default();
        self.relocates_protected(part, words).0
    }

    /// What `mv`, `cp`, `ln` and `install` put somewhere else, with everything below it: all of it seen, and the first
    /// protected file that comes of it.
    fn relocates_protected(&self, part: &Part, words: &[Word]) -> (bool, Option<PathBuf>) {
        let Some((name, args)) = words.split_first() else { return (true, None) };
        let base = argv::base_name(&name.text);
        if !matches!(base, "mv" | "cp" | "ln" | "install") {
            return (true, None);
        }
        let operands: Vec<&Word> = args.iter().filter(|word| !files::is_flag(word)).collect();
        let elsewhere = args.iter().any(|word| {
            word.text.starts_with("--t")
                || (files::is_flag(word) && !word.text.starts_with("--") && word.text.contains('t'))
        });
        let (sources, targets) = match operands.split_last() {
            Some((last, before)) if !elsewhere && !before.is_empty() => (before.to_vec(), vec![*last]),
            _ => (operands.clone(), operands.clone()),
        };
        let at = |word: &Word| self.locator.locate(word, &part.command.place, Access::Write).unwrap_or_default();
        let targets: Vec<PathTarget> = targets.into_iter().flat_map(at).collect();
        let mut complete = true;
        for source in sources.into_iter().flat_map(at) {
            let below = survey::below(self.locator.fs(), &source.real);
            complete &= below.complete;
            // A link takes nothing along.
            let taken = below.entries.iter().filter(|_| base != "ln");
            let inner = || taken.clone().map(|(path, _)| path.as_path()).chain([Path::new("")]);
            let name = source.given.file_name().map(PathBuf::from).unwrap_or_default();
            let landed = targets.iter().flat_map(|target| {
                let fs = self.locator.fs();
                let folder = fs.exists(&target.real) && fs.list(&target.real, 0) != Listing::NotAFolder;
                let inside = base != "ln" || folder;
                let places = [Some(target.given.clone()), inside.then(|| target.given.join(&name))];
                places.into_iter().flatten().flat_map(|place| inner().map(move |path| place.join(path)))
            });
            let moved = inner().filter(|_| base == "mv").map(|path| source.given.join(path));
            if let Some(path) = landed.chain(moved).find(|path| self.is_protected(path)) {
                return (complete, Some(path));
            }
        }
        (complete, None)
    }

    fn is_protected(&self, path: &Path) -> bool {
        let given = normalise(path);
        let fact = PathTarget { real: given.clone(), given, write: true };
        paths::protected(self.policy, &fact)
    }

    /// A folder that holds such files, whatever is in it when this is judged.
    fn takes_away(&self, part: &Part, words: &[Word]) -> Option<PathBuf> {
        let (name, args) = words.split_first()?;
        if !matches!(argv::base_name(&name.text), "rm" | "rmdir" | "mv" | "cp") {
            return None;
        }
        let facts = args
            .iter()
            .filter(|word| !files::is_flag(word))
            .flat_map(|word| self.locator.locate(word, &part.command.place, Access::Write).unwrap_or_default());
        facts.into_iter().find(paths::holds_protected).map(|fact| fact.given)
    }

    /// Whether a program whose writes are not known has such a file among its arguments. Git is told of them for other
    /// reasons, too.
    pub(super) fn names_protected(&self, part: &Part) -> bool {
        let words = part.layers.last().map(Vec::as_slice).unwrap_or_default();
        let Some((name, args)) = words.split_first() else { return false };
        let values = args.iter().flat_map(|word| {
            let value = word.text.split_once('=').map(|(_, value)| value);
            let attached = word.text.strip_prefix('-').and_then(|flag| flag.get(1..));
            [Some(word.text.as_str()), value, attached]
        });
        // Of these it is known what they write, so what else they name is only read.
        let known = name.text == "git" || writers::footprint(&name.text, args).is_some();
        !known && values.flatten().any(|value| !value.is_empty() && self.is_protected(&self.policy.cwd.join(value)))
    }

    /// A program whose writes are not known, with such a file among its arguments.
    fn hands_protected(&self, part: &Part, words: &[Word]) -> Option<PathBuf> {
        let (name, args) = words.split_first()?;
        if part.footprint.is_some() || argv::base_name(&name.text) != "git" {
            return None;
        }
        // Of git only the options that name a file to write; it is told of such files for other reasons, too.
        let values = args.iter().filter_map(|word| word.text.strip_prefix("--o").and_then(|rest| rest.split_once('=')));
        values.map(|(_, value)| value.to_owned()).find_map(|value| {
            let word = Word { raw: value.clone(), text: value, certainty: Certainty::Exact };
            let facts = self.locator.locate(&word, &part.command.place, Access::Write).unwrap_or_default();
            facts.into_iter().find(|fact| paths::protected(self.policy, fact)).map(|fact| fact.given)
        })
    }

    /// Whether this one file may be touched without a question.
    pub(super) fn touch_allowed(&self, touch: &Touch) -> bool {
        let Some(facts) = &touch.facts else { return false };
        if touch.glob && paths::restricts_paths(self.policy, touch.access) {
            return false;
        }
        let accepts = touch.access == Access::Read
            || matches!(self.policy.mode, wire::PermissionMode::AcceptEdits | wire::PermissionMode::Auto);
        facts.iter().all(|fact| {
            let allowed = || paths::path_rule(self.policy, crate::pattern::List::Allow, fact).is_some();
            (accepts && paths::inside(self.policy, fact)) || allowed()
        })
    }
}
