//! The rules of a sandbox: paths, hosts and weaknesses as data, with pure questions about them.
//!
//! Paths are absolute and real (no links, no dots). Deliberately absent: where the lists come from
//! (`layout`) and how a kernel holds them.

use crate::layout::PROTECTED;
use std::fmt;
use std::path::{Path, PathBuf};

/// How much may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Temporary files only.
    ReadOnly,
    /// The workspace, its git directory, build caches and temporary files.
    Workspace,
}

impl Level {
    pub const NAMES: [&'static str; 2] = ["read-only", "workspace"];

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "read-only" => Some(Self::ReadOnly),
            "workspace" => Some(Self::Workspace),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => Self::NAMES[0],
            Self::Workspace => Self::NAMES[1],
        }
    }
}

/// The network of a confined command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    Open,
    Off,
    /// Through a proxy of ours, to these hosts. An empty list is nothing.
    Only(super::Hosts),
}

/// What a confined command may write, read and reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Trees that may be written, and single files.
    pub write: Vec<PathBuf>,
    /// Below `write`, but not to be changed, whether they exist or not.
    pub protected: Vec<PathBuf>,
    /// Below `protected`, folders of checkouts that agents make for each other. Each checkout may be
    /// written but for what is protected in every workspace.
    pub checkouts: Vec<PathBuf>,
    /// Of `write`, temporary folders: a box has its own in their places, where the system can do that.
    pub temp: Vec<PathBuf>,
    /// Below `temp`, what is seen in a box all the same.
    pub seen: Vec<PathBuf>,
    /// The temporary folders that a box has. Filled in when it is made.
    pub own_temp: Vec<OwnTemp>,
    /// Trees and files that may not be read.
    pub hidden: Vec<PathBuf>,
    /// Folders of a loop's runs: the sockets of runs in them are not there.
    pub runs: Vec<PathBuf>,
    /// Below `hidden`, but readable all the same.
    pub shown: Vec<PathBuf>,
    pub network: Network,
    /// Whether sockets of this machine (`AF_UNIX`) may be used: behind some of them are programs that
    /// run commands for whoever asks.
    pub unix_sockets: bool,
    /// The socket of the issue tracker's daemon (beads): where the system can do that, this one is reached through a
    /// relay though `unix_sockets` are not.
    pub beads_socket: Option<PathBuf>,
    /// Where these are the rules of an agent and not only of its commands.
    pub agent: Option<Agent>,
}

/// A temporary folder of a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTemp {
    /// Where commands see it.
    pub at: PathBuf,
    /// Where it is.
    pub folder: PathBuf,
}

/// What agents need that commands do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// Files that it replaces, with what it makes beside them for that: names that begin with theirs and a dot.
    /// Only where paths are judged by their names (macOS); elsewhere the whole folder would be open.
    pub replaces: Vec<PathBuf>,
}

/// Why a path is out of reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRefusal {
    #[error("{} is outside of what the sandbox lets be written", .0.display())]
    NotWritable(PathBuf),
    #[error("{} is protected by the sandbox: it decides what runs outside of it", .0.display())]
    Protected(PathBuf),
    #[error("{} is hidden by the sandbox: credentials are kept there", .0.display())]
    Hidden(PathBuf),
}

impl Rules {
    /// Where a path is that commands in the box use: for those who look from outside.
    pub fn outside(&self, real: &Path) -> PathBuf {
        let own = self.own_temp.iter().find(|own| real.starts_with(&own.at));
        let is_seen = |own: &OwnTemp| {
            let below = |path: &PathBuf| real.starts_with(path) && path.starts_with(&own.at);
            self.write.iter().any(below) || self.seen.iter().any(below)
        };
        match own.filter(|own| !is_seen(own)).map(|own| (own, real.strip_prefix(&own.at))) {
            Some((own, Ok(rest))) if rest.as_os_str().is_empty() => own.folder.clone(),
            Some((own, Ok(rest))) => own.folder.join(rest),
            _ => real.to_owned(),
        }
    }

    /// Judges a real path for writing, as the kernel would.
    pub fn may_write(&self, real: &Path) -> Result<(), PathRefusal> {
        if deepest(&self.protected, real) > deepest(&self.checkouts, real) || self.is_guarded_in_checkout(real) {
            return Err(PathRefusal::Protected(real.to_owned()));
        }
        // A folder that holds something protected cannot be put in its place either.
        if self.protected.iter().any(|path| path.starts_with(real)) {
            return Err(PathRefusal::Protected(real.to_owned()));
        }
        match deepest(&self.write, real) {
            Some(_) => self.may_read(real),
            None => Err(PathRefusal::NotWritable(real.to_owned())),
        }
    }

    /// Whether it is protected in the checkout that it lies in, or holds something that is.
    fn is_guarded_in_checkout(&self, real: &Path) -> bool {
        let guarded = |folder: &PathBuf| {
            let mut parts = real.strip_prefix(folder).ok()?.components();
            parts.next()?;
            let inner = parts.as_path();
            let meets = |name: &str| inner.starts_with(name) || Path::new(name).starts_with(inner);
            Some(inner != Path::new("") && IN_CHECKOUTS.iter().chain(&PROTECTED).any(|name| meets(name)))
        };
        self.checkouts.iter().filter_map(guarded).any(|guarded| guarded)
    }

    /// Judges a real path for reading. What is nearest to the path decides.
    pub fn may_read(&self, real: &Path) -> Result<(), PathRefusal> {
        let hidden = deepest(&self.hidden, real);
        let shown = deepest(&self.shown, real)
            .max(deepest(&self.seen, real))
            .max(deepest(&self.write, real).filter(|depth| Some(*depth) > hidden));
        if hidden > shown { Err(PathRefusal::Hidden(real.to_owned())) } else { Ok(()) }
    }
}

/// Beside what is protected in every workspace: it says where the repository is.
pub(crate) const IN_CHECKOUTS: [&str; 1] = [".git"];

/// How many parts the longest listed path has that `real` is or lies below.
fn deepest(listed: &[PathBuf], real: &Path) -> Option<usize> {
    listed.iter().filter(|path| real.starts_with(path)).map(|path| path.components().count()).max()
}

/// What this machine cannot hold, in words for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// Files that exist or not, below writable folders.
    ProtectedFiles,
    /// Paths below writable folders that should be hidden.
    HiddenInside,
    /// Only the whole network can be cut, so it is.
    AllowList,
    /// Files outside can be emptied, though not written.
    Truncation,
    /// Processes outside can be sent signals.
    Signals,
}

impl Weakness {
    pub fn name(self) -> &'static str {
        match self {
            Self::ProtectedFiles => "protected-files",
            Self::HiddenInside => "hidden-inside",
            Self::AllowList => "network-allow-list",
            Self::Truncation => "truncation",
            Self::Signals => "signals",
        }
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ProtectedFiles => {
                "commands can change protected files of the workspace (.git/hooks, .claude, …): no user namespaces here"
            }
            Self::HiddenInside => {
                "files in the workspace that should be hidden from commands are not: no user namespaces here"
            }
            Self::AllowList => "commands have no network at all instead of the listed hosts: no user namespaces here",
            Self::Truncation => "commands can empty files outside of the workspace: the kernel is older than 6.2",
            Self::Signals => "commands can send signals to your other processes: the kernel is older than 6.12",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
        Rules {
            write: paths(&["/w", "/tmp", "/h/.ssh/work"]),
            protected: paths(&["/w/.git/config", "/w/.claude"]),
            checkouts: paths(&["/w/.claude/worktrees"]),
            hidden: paths(&["/h/.ssh", "/w/.env"]),
            shown: paths(&["/h/.ssh/known_hosts"]),
            ..Rules::default()
        }
    }

    #[test]
    fn writing_needs_a_writable_tree_and_nothing_protected() {
        for (path, fine) in [
            ("/w/src/a", true),
            ("/w/.git/index", true),
            ("/w/.git/config", false),
            ("/w/.git/config.lock", true),
            ("/w/.git", false),
            ("/w/.claude/new/deep", false),
            ("/w/.claude/worktrees", true),
            ("/w/.claude/worktrees/a/src/x", true),
            ("/w/.claude/worktrees/a/.git", false),
            ("/w/.claude/worktrees/a/.gitignore", true),
            ("/w/.claude/worktrees/a/.claude/settings.json", false),
            ("/w/.claude/worktrees/a/.ralph", false),
            ("/w/.claude/worktrees-not", false),
            ("/w-evil/a", false),
            ("/h/.bashrc", false),
            ("/w/.env", false),
            ("/tmp/x", true),
            ("/h/.ssh/work/x", true),
            ("/", false),
        ] {
            assert_eq!(rules().may_write(Path::new(path)).is_ok(), fine, "{path}");
        }
    }

    #[test]
    fn reading_is_judged_by_what_is_nearest() {
        for (path, fine) in [
            ("/etc/passwd", true),
            ("/h/.ssh", false),
            ("/h/.ssh/id", false),
            ("/h/.ssh/known_hosts", true),
            ("/h/.ssh/work/x", true),
            ("/h/.sshx", true),
            ("/w/.env", false),
            ("/w/a", true),
        ] {
            assert_eq!(rules().may_read(Path::new(path)).is_ok(), fine, "{path}");
        }
    }
}
