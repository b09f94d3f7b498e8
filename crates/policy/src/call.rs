//! The data types of a decision: the call, the policy, and the decision.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wire::PermissionMode;

use crate::names::{RuleKind, ToolEntry};
use crate::rule::RuleSet;

/// Everything that a call is judged by: mode, rules, and the folders that are the workspace.
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

/// A path that a tool is about to touch, as it was asked for and as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTarget {
    /// Absolute, `.` and `..` folded as text ([`crate::normalise`]): what clients are shown.
    pub given: PathBuf,
    /// Every symbolic link followed, as far as the path exists: what is judged and opened.
    pub real: PathBuf,
    pub write: bool,
}

impl PathTarget {
    /// The same path, to be written.
    #[must_use]
    pub fn for_writing(self) -> Self {
        Self { write: true, ..self }
    }

    /// For messages and for clients.
    pub fn shown(&self) -> String {
        self.given.display().to_string()
    }
}

/// What rules judge in a call. The tool finds it in its input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    pub paths: Vec<PathTarget>,
    /// A command line for a shell.
    pub command: Option<String>,
    /// An address whose host is contacted.
    pub url: Option<String>,
    /// What an agent or skill call names: alone, and with its arguments.
    pub names: Vec<String>,
}

impl Targets {
    /// The targets of a call that touches files and nothing else.
    pub fn paths(paths: Vec<PathTarget>) -> Self {
        Self { paths, ..Self::default() }
    }

    /// What can be told from the input alone: everything but paths, which need a disk to be resolved.
    pub fn of(entry: &ToolEntry, input: &Value) -> Self {
        let field = |key: &str| input.get(key).and_then(Value::as_str);
        let subject = || field(entry.subject).map(str::to_owned);
        match entry.rules {
            RuleKind::Command => Self { command: subject(), ..Self::default() },
            RuleKind::Host => Self { url: subject(), ..Self::default() },
            RuleKind::Agent => {
                let named = subject().filter(|name| !name.is_empty());
                Self { names: vec![named.unwrap_or_else(|| GENERAL_AGENT.to_owned())], ..Self::default() }
            }
            RuleKind::Skill => {
                let named = field(entry.subject).or_else(|| field("command")).unwrap_or_default();
                let skill = named.trim_start_matches('/');
                let with_args = field("args").filter(|args| !args.is_empty()).map(|args| format!("{skill} {args}"));
                Self { names: std::iter::once(skill.to_owned()).chain(with_args).collect(), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// The targets with what the input says, where the caller has not looked: a command that nobody has looked for
    /// is no reason to pass by a deny rule.
    pub fn completed(&self, entry: &ToolEntry, input: &Value) -> Option<Self> {
        let looked = self.command.is_some() || self.url.is_some() || !self.names.is_empty();
        if looked || entry.rules.names_paths() {
            return None;
        }
        Some(Self { paths: self.paths.clone(), ..Self::of(entry, input) })
    }
}

/// The agent that is meant where a call names none.
const GENERAL_AGENT: &str = "general-purpose";

/// One call of a tool, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a str,
    /// For a tool that is not in the table of names, which wins: how rules match it.
    pub rules: RuleKind,
    pub input: &'a Value,
    pub targets: &'a Targets,
}

impl<'a> Call<'a> {
    /// A call of a tool that is known by its name alone.
    pub fn new(tool: &'a str, input: &'a Value, targets: &'a Targets) -> Self {
        Self { tool, rules: RuleKind::Other, input, targets }
    }
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

/// The answer of [`Resolve::list`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listing {
    /// Missing, or something else, or not ours to read.
    NotAFolder,
    TooMany,
    Names(Vec<Name>),
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub text: OsString,
    pub kind: Kind,
    pub ino: u64,
}

/// The kind of an entry; a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Folder,
    Link,
    Other,
}

/// Whether a call runs, a person is asked, or it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// A verdict with its reason, and what runs in place of the text that was judged.
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
