//! Path rules, the workspace border, and the paths that are guarded whatever the rules say.
//!
//! Comparison is by path component, never by string prefix. Allow needs the path as given and where it
//! leads; deny takes either, in any spelling a case-insensitive or normalising file system would accept.
//! Deliberately absent: reading the file system.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use crate::call::{Decision, PathTarget, Policy, Resolve, Verdict};
use crate::names;
use crate::path_pattern::{PathPattern, Places, fold, folded, spelled};
use crate::pattern::List;
use crate::rule::{Kind, Rule};
use crate::survey;

pub(crate) fn project(policy: &Policy) -> &Path {
    policy.roots.first().unwrap_or(&policy.cwd)
}

fn places<'a>(policy: &'a Policy, rule: &'a Rule) -> Places<'a> {
    Places { project: project(policy), home: policy.home.as_deref(), source: &rule.source.anchor }
}

/// What is done to a path, and so which rules speak about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl PathTarget {
    pub(crate) fn access(&self) -> Access {
        if self.write { Access::Write } else { Access::Read }
    }
}

/// Edit allow also grants reading; Read deny also blocks writing.
fn speaks_of(rule: &Rule, access: Access, list: List) -> bool {
    let kind = names::kind_of(&rule.tool);
    match (list, access) {
        // `Write(path)`, `Glob(path)` and the like never grant: the contract has them ignored.
        (List::Allow, Access::Read) => rule.tool == names::READ.name || rule.tool == names::EDIT.name,
        (List::Allow, Access::Write) => rule.tool == names::EDIT.name,
        (_, Access::Read) => kind.reads_files(),
        (_, Access::Write) => kind.names_paths(),
    }
}

/// The first path rule of the list that covers the path.
pub(crate) fn path_rule<'a>(policy: &'a Policy, list: List, fact: &PathTarget) -> Option<&'a Rule> {
    let mut rules = policy.rules.list(list).iter().filter_map(|rule| {
        let Some(Kind::Path(pattern)) = rule.specifier.as_ref().map(|s| &s.kind) else { return None };
        speaks_of(rule, fact.access(), list).then_some((rule, pattern))
    });
    let first = rules.next()?;
    let given = spelled(&fact.given, list);
    let real = if fact.real == fact.given { given.clone() } else { spelled(&fact.real, list) };
    let covers = |(rule, pattern): &(&Rule, &PathPattern)| {
        let Some(base) = pattern.base(&places(policy, rule)) else { return false };
        let given_hit = pattern.matches(base.clone(), &given, list);
        let real_hit = || pattern.matches(base, &real, list);
        if list == List::Allow { given_hit && real_hit() } else { given_hit || real_hit() }
    };
    std::iter::once(first).chain(rules).find(covers).map(|(rule, _)| rule)
}

/// A file may have several names. Where one that is denied has, each of these files is looked at: is it that one
/// under another name? A question where it cannot be told.
pub(crate) fn by_another_name<'f>(
    policy: &Policy,
    fs: &dyn Resolve,
    facts: impl Iterator<Item = &'f PathTarget>,
) -> Option<Decision> {
    if !restricts_paths(policy, Access::Read) && !restricts_paths(policy, Access::Write) {
        return None;
    }
    let mut shared = facts.filter_map(|fact| Some((fact, fs.shared_inode(&fact.real)?))).peekable();
    shared.peek()?;
    let denied = policy.denied_inodes(fs);
    shared.find_map(|(fact, ino)| match &denied {
        Some(denied) if !denied.contains(&ino) => None,
        Some(_) => {
            let reason = format!("{} is another name of a file that a rule denies.", fact.given.display());
            Some(Decision::new(Verdict::Deny, "rule", reason).at(&fact.given))
        }
        None => {
            let reason = format!(
                "{} has several names, and there are too many files to tell whether a rule denies one of them.",
                fact.given.display()
            );
            Some(Decision::ask("other", reason).at(&fact.given))
        }
    })
}

/// Whether any ask or deny rule is about paths of this access: then what cannot be named cannot be cleared.
pub(crate) fn restricts_paths(policy: &Policy, access: Access) -> bool {
    [List::Ask, List::Deny].into_iter().any(|list| {
        policy.rules.list(list).iter().any(|rule| {
            matches!(rule.specifier.as_ref().map(|s| &s.kind), Some(Kind::Path(_))) && speaks_of(rule, access, list)
        })
    })
}

impl Policy {
    /// For tools that list or search: a file that a rule denies must not show up in their results.
    pub fn denies_read(&self, given: &Path, real: &Path) -> bool {
        let fact = PathTarget { given: given.to_path_buf(), real: real.to_path_buf(), write: false };
        path_rule(self, List::Deny, &fact).is_some()
    }

    /// Whether any rule denies files at all.
    pub fn denies_files(&self) -> bool {
        self.rules.deny.iter().any(|rule| matches!(rule.specifier.as_ref().map(|s| &s.kind), Some(Kind::Path(_))))
    }

    /// Inode numbers of the files that rules deny, to know them under other names. `None`: too many to look at.
    pub fn denied_inodes(&self, fs: &dyn Resolve) -> Option<HashSet<u64>> {
        let rules = self.rules.deny.iter().filter_map(|rule| match &rule.specifier.as_ref()?.kind {
            Kind::Path(pattern) => pattern.folder(&places(self, rule)),
            _ => None,
        });
        let mut folders: Vec<PathBuf> = rules.collect();
        folders.sort();
        folders.dedup_by(|later, kept| later.starts_with(kept));
        survey::inodes(fs, &folders, |path| {
            let fact = PathTarget { given: path.to_path_buf(), real: path.to_path_buf(), write: true };
            path_rule(self, List::Deny, &fact).is_some()
        })
    }
}

/// Inside the workspace, where the path really leads. Names under `/proc` and `/dev` mean different
/// files to different processes, so what they resolve to here proves nothing.
pub(crate) fn inside(policy: &Policy, fact: &PathTarget) -> bool {
    !fact.given.starts_with("/proc")
        && !fact.given.starts_with("/dev")
        && policy.roots.iter().any(|root| fact.real.starts_with(root))
}

const PROTECTED_DIRS: [&str; 9] =
    [".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude"];

const PROTECTED_FILES: [&str; 33] = [
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".envrc",
    ".npmrc",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".bazelrc",
    ".bazelversion",
    ".bazeliskrc",
    ".pre-commit-config.yaml",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    ".devcontainer.json",
    ".ripgreprc",
    "pyrightconfig.json",
    ".mcp.json",
    ".claude.json",
    "config.fish",
];

const PROTECTED_PREFIXES: [&str; 3] = [".yarnrc", ".pnp.", "lefthook."];

/// Files that other programs obey: a write here is a way to run code later.
pub(crate) fn protected(policy: &Policy, fact: &PathTarget) -> bool {
    [&fact.given, &fact.real].into_iter().any(|path| {
        // A project may itself live below such a directory; only what is under the root counts then.
        let root = policy.roots.iter().filter(|root| path.starts_with(root)).max_by_key(|root| root.as_os_str().len());
        let below = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        protected_below(&folded(below))
    })
}

fn protected_below(path: &Path) -> bool {
    let names: Vec<String> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let in_directory = names.iter().enumerate().any(|(i, name)| {
        let next = names.get(i + 1).map(String::as_str);
        match name.as_str() {
            ".claude" => next != Some("worktrees"),
            ".config" => next == Some("git"),
            // What the loop obeys: its settings, and what it takes for proof that the work is done.
            ".ralph" => matches!(next, Some("config.toml" | "check")),
            other => PROTECTED_DIRS.contains(&other),
        }
    });
    let in_file = names.last().is_some_and(|name| {
        PROTECTED_FILES.contains(&name.as_str())
            || PROTECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || name.starts_with(".lefthook.")
    });
    in_directory || in_file
}

/// Folders of which only a part is protected, as a whole.
pub(crate) fn holds_protected(fact: &PathTarget) -> bool {
    let names = [&fact.given, &fact.real].into_iter().filter_map(|path| path.file_name());
    names.into_iter().any(|name| matches!(fold(&name.to_string_lossy()).as_str(), ".ralph" | ".config"))
}

/// Removing one of these is never approved without a person: the root, its children, home, and the
/// directories we stand in.
pub(crate) fn critical(policy: &Policy, fact: &PathTarget) -> bool {
    [&fact.given, &fact.real].into_iter().any(|path| {
        path.parent().is_none_or(|parent| parent.parent().is_none())
            || policy.home.as_ref().is_some_and(|home| home.starts_with(path))
            || policy.cwd.starts_with(path)
            || project(policy).starts_with(path)
    })
}
