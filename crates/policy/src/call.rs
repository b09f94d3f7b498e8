//! The vocabulary of a decision: what is asked, by which policy, and what comes back.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wire::PermissionMode;

use crate::rule::RuleSet;

#[derive(Debug, Clone)]
pub struct Policy {
    pub mode: PermissionMode,
    pub rules: RuleSet,
    /// Canonical: the project first, then added directories.
    pub roots: Vec<PathBuf>,
    /// Effective directory of the shell, canonical.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
}

/// A path that a file tool is about to touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFact {
    /// Absolute and lexically normalised ([`crate::normalise`]).
    pub given: PathBuf,
    /// Symlinks resolved, as far as the path exists.
    pub real: PathBuf,
    pub write: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub input: &'a Value,
    pub paths: &'a [PathFact],
}

/// The only door to the file system, used for paths found inside shell commands.
pub trait Resolve {
    /// Canonicalise as far as the path exists, the rest appended. The path is absolute but may hold
    /// `..`, which must be resolved as the operating system would: after the symlink before it.
    fn real(&self, path: &Path) -> PathBuf;

    /// What a folder holds, unless that is more than `most` names. Links in the path itself are not followed
    /// further than [`Resolve::real`] did.
    fn list(&self, folder: &Path, most: usize) -> Listing;

    fn exists(&self, path: &Path) -> bool;

    /// Whether git, run in this folder, may start programs because the repository's own files say so.
    fn repository_runs_programs(&self, folder: &Path) -> bool;

    /// The inode of a file that has several names (hard links); `None` for every other.
    fn shared_inode(&self, path: &Path) -> Option<u64>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Missing, or something else, or not ours to read.
    NotAFolder,
    TooMany,
    Names(Vec<Name>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: OsString,
    pub kind: Kind,
    pub ino: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Folder,
    Link,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// `rule`, `mode`, `readOnly`, `workspace`, `safety`, `unparsable` or `other`.
    pub reason_type: &'static str,
    /// One sentence for people.
    pub reason: String,
    /// The rule that decided, as it was written.
    pub rule: Option<String>,
    pub blocked_path: Option<PathBuf>,
    /// Of a shell command that is allowed because of what it says: the text that the shell must be given in place of
    /// the original, since that is what was judged. `None`: as written.
    pub run: Option<String>,
}

impl Decision {
    pub(crate) fn new(verdict: Verdict, reason_type: &'static str, reason: impl Into<String>) -> Self {
        Self { verdict, reason_type, reason: reason.into(), rule: None, blocked_path: None, run: None }
    }

    pub(crate) fn allow(reason_type: &'static str, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Allow, reason_type, reason)
    }

    pub(crate) fn ask(reason_type: &'static str, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Ask, reason_type, reason)
    }

    pub(crate) fn by_rule(verdict: Verdict, rule: &crate::rule::Rule) -> Self {
        let does = match verdict {
            Verdict::Allow => "allows this",
            Verdict::Ask => "asks before this",
            Verdict::Deny => "denies this",
        };
        let reason = format!("The rule {} from {} {does}.", rule.text, rule.source.name);
        Self { rule: Some(rule.text.clone()), ..Self::new(verdict, "rule", reason) }
    }

    pub(crate) fn running(self, text: impl Into<Option<String>>) -> Self {
        Self { run: text.into(), ..self }
    }

    pub(crate) fn at(mut self, path: &Path) -> Self {
        self.blocked_path = Some(path.to_path_buf());
        self
    }
}
