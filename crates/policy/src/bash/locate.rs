//! From a word in a command to the files it may mean, given where the command runs.

use std::path::{Path, PathBuf};

use crate::call::{PathFact, Policy, Resolve};
use crate::paths::{self, Access, normalise};
use crate::shell::{Certainty, Place, Step, Word};

pub(super) struct Locator<'a> {
    policy: &'a Policy,
    fs: &'a dyn Resolve,
}

/// Where output and input vanish or come from the caller's own streams.
pub(super) fn is_sink(word: &Word, access: Access) -> bool {
    match word.exact() {
        Some("/dev/null") => true,
        Some("/dev/stdout" | "/dev/stderr") => access == Access::Write,
        _ => false,
    }
}

impl<'a> Locator<'a> {
    pub(super) fn new(policy: &'a Policy, fs: &'a dyn Resolve) -> Self {
        Self { policy, fs }
    }

    /// Every file that the word may name. `None`: it cannot be told.
    pub(super) fn locate(&self, word: &Word, place: &Place, access: Access) -> Option<Vec<PathFact>> {
        let write = access == Access::Write;
        let fact = |path: &Path| PathFact { given: normalise(path), real: self.fs.real(path), write };
        match word.certainty {
            Certainty::Unknown => None,
            Certainty::Home => Some(vec![fact(&self.home_path(&word.text)?)]),
            Certainty::Exact if word.text.is_empty() => Some(Vec::new()),
            Certainty::Exact => {
                Some(self.bases(&word.text, place)?.iter().map(|base| fact(&base.join(&word.text))).collect())
            }
            Certainty::Glob => {
                let (literal, pattern) = split_glob(&word.text)?;
                let facts = self.bases(&word.text, place)?.into_iter().map(|base| {
                    let directory = base.join(literal);
                    let given = normalise(&directory).join(pattern);
                    PathFact { given, real: self.fs.real(&directory).join(pattern), write }
                });
                Some(facts.collect())
            }
        }
    }

    /// Whether removing what the word names needs a person. Answers with the path to show.
    pub(super) fn critical(&self, word: &Word, place: &Place) -> Option<PathBuf> {
        // `"$VAR"/*` is the root when the variable is empty.
        let raw = word.raw.replace(['"', '\''], "");
        if raw.starts_with('$') && (raw.ends_with("/*") || raw.ends_with('/')) {
            return Some(PathBuf::from(&word.raw));
        }
        if word.certainty == Certainty::Unknown {
            let everything_at_home = raw.starts_with('~') && raw.trim_start_matches("~/").starts_with(['*', '.']);
            let known = matches!(raw.as_str(), "$HOME" | "${HOME}" | "$PWD" | "${PWD}" | "$OLDPWD");
            return (everything_at_home || known).then(|| PathBuf::from(&word.raw));
        }
        if word.certainty == Certainty::Glob {
            return self.critical_glob(word, place);
        }
        let facts = self.locate(word, place, Access::Write).unwrap_or_default();
        facts.into_iter().find(|fact| paths::critical(self.policy, fact)).map(|fact| fact.given)
    }

    /// A pattern removes children of its directory: of the root, of home, or of a parent of ours.
    fn critical_glob(&self, word: &Word, place: &Place) -> Option<PathBuf> {
        let facts = self.locate(word, place, Access::Write).unwrap_or_default();
        facts.into_iter().find_map(|fact| {
            let directories = [fact.given.parent(), fact.real.parent()];
            let ours = |dir: &Path| {
                dir.parent().is_none()
                    || self.policy.home.as_ref().is_some_and(|home| home.starts_with(dir))
                    || (self.policy.cwd.starts_with(dir)
                        && dir != self.policy.cwd
                        && dir != paths::project(self.policy))
            };
            let hit = directories.into_iter().flatten().any(ours);
            hit.then(|| fact.given.clone())
        })
    }

    /// Whether the command may run anywhere but where the shell stands now.
    pub(super) fn elsewhere(&self, place: &Place) -> bool {
        match self.directories(place) {
            Some(directories) => directories.iter().any(|directory| self.fs.real(directory) != self.policy.cwd),
            None => true,
        }
    }

    fn home_path(&self, below: &str) -> Option<PathBuf> {
        let home = self.policy.home.as_ref()?;
        Some(home.join(below.trim_start_matches('/')))
    }

    /// Directories that a path is relative to; an absolute one needs none.
    fn bases(&self, text: &str, place: &Place) -> Option<Vec<PathBuf>> {
        if text.starts_with('/') { Some(vec![PathBuf::from("/")]) } else { self.directories(place) }
    }

    fn directories(&self, place: &Place) -> Option<Vec<PathBuf>> {
        place.chains()?.iter().map(|chain| self.follow(chain)).collect()
    }

    fn follow(&self, chain: &[Step]) -> Option<PathBuf> {
        let mut at = self.policy.cwd.clone();
        for step in chain {
            // `cd` goes by names, programs by what is there: from here on the real directory counts.
            at = match step {
                Step::Home => self.policy.home.clone()?,
                Step::HomePath(below) => normalise(&self.home_path(below)?),
                Step::Path(path) => normalise(&at.join(path)),
            };
        }
        Some(if chain.is_empty() { at } else { self.fs.real(&at) })
    }
}

/// The directory before the first segment with a pattern, and the rest. `None` if the rest climbs.
fn split_glob(text: &str) -> Option<(&str, &str)> {
    let first = text.find(['*', '?', '['])?;
    let at = text[..first].rfind('/').map_or(0, |slash| slash + 1);
    let (literal, pattern) = text.split_at(at);
    (!pattern.split('/').any(|part| part == "..")).then_some((literal, pattern))
}
