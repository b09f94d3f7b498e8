//! From a word in a command to the files it may mean, given where the command runs.

use std::path::{Path, PathBuf};

use crate::call::{Kind, PathTarget, Policy, Resolve};
use crate::path_pattern::normalise;
use crate::paths::{self, Access};
use crate::pattern::List;
use crate::rule::Rule;
use crate::shell::{Certainty, Place, Step, Word};
use crate::survey;

/// Stands for any file of a folder; no file has this name.
const NO_NAME: &str = "\u{fffd}";

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

    pub(super) fn fs(&self) -> &'a dyn Resolve {
        self.fs
    }

    /// Every file that the word may name. `None`: it cannot be told.
    pub(super) fn locate(&self, word: &Word, place: &Place, access: Access) -> Option<Vec<PathTarget>> {
        let write = access == Access::Write;
        let fact = |path: &Path| PathTarget { given: normalise(path), real: self.fs.real(path), write };
        match word.certainty {
            Certainty::Unknown => None,
            Certainty::Home => Some(vec![fact(&self.home_path(&word.text)?)]),
            Certainty::Exact if word.text.is_empty() => Some(Vec::new()),
            Certainty::Exact => {
                Some(self.bases(&word.text, place)?.iter().map(|base| fact(&base.join(&word.text))).collect())
            }
            Certainty::Glob => {
                let mut facts = self.pattern(word, place, access)?;
                // Each file that it stands for may be a link to somewhere else.
                for base in self.bases(&word.text, place)? {
                    let (literal, pattern) = split_glob(&word.text)?;
                    let directory = base.join(literal);
                    let found = survey::expand(self.fs, &self.fs.real(&directory), pattern)?;
                    facts.extend(found.iter().map(|path| fact(path)));
                }
                Some(facts)
            }
        }
    }

    /// A pattern as if it were a name.
    fn pattern(&self, word: &Word, place: &Place, access: Access) -> Option<Vec<PathTarget>> {
        let (literal, pattern) = split_glob(&word.text)?;
        let facts = self.bases(&word.text, place)?.into_iter().map(|base| {
            let directory = base.join(literal);
            let given = normalise(&directory).join(pattern);
            PathTarget { given, real: self.fs.real(&directory).join(pattern), write: access == Access::Write }
        });
        Some(facts.collect())
    }

    /// Whether every link below this folder stays in the workspace. Not if it cannot be told.
    pub(super) fn links_stay_inside(&self, folder: &Path) -> bool {
        let survey = survey::below(self.fs, folder);
        survey.complete
            && survey.entries.iter().filter(|(_, name)| name.kind == Kind::Link).all(|(path, _)| {
                let given = folder.join(path);
                let real = self.fs.real(&given);
                paths::inside(self.policy, &PathTarget { given, real, write: false })
            })
    }

    /// A rule about all that is in this folder, whether there is something in it or not.
    pub(super) fn rule_on_contents(&self, list: List, fact: &PathTarget) -> Option<&'a Rule> {
        paths::path_rule(self.policy, list, &within(fact, Path::new(NO_NAME)))
    }

    /// A rule about any one file below this folder.
    pub(super) fn rule_on_any_below(&self, list: List, fact: &PathTarget) -> Option<&'a Rule> {
        let survey = survey::below(self.fs, &fact.real);
        survey.entries.iter().find_map(|(path, _)| paths::path_rule(self.policy, list, &within(fact, path)))
    }

    /// Whether all that is below could be seen.
    pub(super) fn is_surveyable(&self, fact: &PathTarget) -> bool {
        survey::below(self.fs, &fact.real).complete
    }

    /// A word of a program that is not known here, if it names something that is there.
    pub(super) fn named(&self, word: &Word, place: &Place) -> Vec<PathTarget> {
        let text = word.text.trim_start_matches('-');
        let after = |sign: char| text.split_once(sign).map(|(_, value)| value);
        let attached = if word.text.starts_with("--") { None } else { text.get(1..) };
        let candidates = [Some(word.text.as_str()), after('='), after('@'), after(':'), attached];
        let mut facts = Vec::new();
        for text in candidates.into_iter().flatten().filter(|text| !text.is_empty()) {
            let word = Word { raw: text.to_owned(), text: text.to_owned(), certainty: word.certainty };
            let located = self.locate(&word, place, Access::Read).unwrap_or_default();
            facts.extend(located.into_iter().filter(|fact| self.fs.exists(&fact.real)));
        }
        facts
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
        let facts = self.pattern(word, place, Access::Write).unwrap_or_default();
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

    /// Whether a command runs where the shell starts.
    pub(super) fn is_here(&self, place: &Place) -> bool {
        let here = &self.policy.cwd;
        self.directories(place).is_some_and(|folders| folders.iter().all(|folder| self.fs.real(folder) == *here))
    }

    /// Whether a pattern stands for a name that a program would take for an option. Also where it cannot be told.
    pub(super) fn matches_option(&self, word: &Word, place: &Place) -> bool {
        let first = word.text.split('/').next().unwrap_or_default();
        if !first.contains(['*', '?', '[']) {
            return false;
        }
        let Some(folders) = self.directories(place) else { return true };
        let is_option = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('-'));
        folders.iter().any(|folder| {
            survey::expand(self.fs, &self.fs.real(folder), first).is_none_or(|found| found.iter().any(is_option))
        })
    }

    /// Whether git, run there, may find a repository that is not the workspace's own.
    pub(super) fn is_foreign_repository(&self, place: &Place) -> bool {
        let Some(folders) = self.directories(place) else { return true };
        folders.iter().any(|folder| self.lies_in_another(&self.fs.real(folder)))
    }

    /// The same for a folder that `-C` names.
    pub(super) fn is_in_repository(&self, word: &Word, place: &Place) -> bool {
        let facts = self.locate(word, place, Access::Read);
        facts.is_some_and(|facts| facts.iter().all(|fact| !self.lies_in_another(&fact.real)))
    }

    fn lies_in_another(&self, folder: &Path) -> bool {
        let roots = self.policy.roots.iter().filter(|root| folder.starts_with(root));
        let Some(root) = roots.max_by_key(|root| root.as_os_str().len()) else { return true };
        let between = folder.ancestors().take_while(|folder| folder != root);
        self.is_bare(root)
            || between.into_iter().any(|folder| self.fs.exists(&folder.join(".git")) || self.is_bare(folder))
    }

    /// Whether git takes the folder's own files for a repository.
    fn is_bare(&self, folder: &Path) -> bool {
        !self.fs.exists(&folder.join(".git")) && self.fs.exists(&folder.join("HEAD"))
    }

    /// Whether git may find another repository than the project's here, or one whose configuration runs programs.
    pub(super) fn in_another_repository(&self, place: &Place) -> bool {
        let Some(directories) = self.directories(place) else { return true };
        let here = &self.policy.cwd;
        directories.iter().any(|directory| self.fs.real(directory) != *here)
            || self.holds_a_repository(here)
            || self.fs.repository_runs_programs(here)
    }

    /// Whether this folder, or one between it and the project's, is a repository of its own; a bare one is known
    /// by its `HEAD`.
    fn holds_a_repository(&self, directory: &Path) -> bool {
        let project = paths::project(self.policy);
        let Ok(below) = directory.strip_prefix(project) else { return true };
        let mut between = directory.ancestors().take(below.components().count());
        self.is_bare(project) || between.any(|folder| self.fs.exists(&folder.join(".git")) || self.is_bare(folder))
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

fn within(folder: &PathTarget, name: &Path) -> PathTarget {
    PathTarget { given: folder.given.join(name), real: folder.real.join(name), write: folder.write }
}

/// The directory before the first segment with a pattern, and the rest. `None` if the rest climbs.
fn split_glob(text: &str) -> Option<(&str, &str)> {
    let first = text.find(['*', '?', '['])?;
    let at = text[..first].rfind('/').map_or(0, |slash| slash + 1);
    let (literal, pattern) = text.split_at(at);
    (!pattern.split('/').any(|part| part == "..")).then_some((literal, pattern))
}
