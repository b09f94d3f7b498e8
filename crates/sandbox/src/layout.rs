//! From what somebody wants to the [`Rules`] of a command: the lists, and where they come from.
//!
//! Looks at the file system once, changes nothing. Deliberately absent: settings files (their reader
//! makes the [`Request`]) and the environment.

use crate::credentials::{CREDENTIALS, is_history};
use crate::repository;
use crate::rules::{Level, Network, Rules};
use crate::whole_agent::WholeAgent;
use std::path::{Path, PathBuf};

/// Everything that decides the rules. Relative paths count from the first root, `~/` from home.
#[derive(Debug, Clone)]
pub struct Request {
    pub level: Level,
    /// The project first, then folders that were added.
    pub roots: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// The agent's own folder, with its credentials and settings.
    pub config_dir: PathBuf,
    pub temp: Vec<PathBuf>,
    pub allow_write: Vec<PathBuf>,
    pub deny_write: Vec<PathBuf>,
    pub deny_read: Vec<PathBuf>,
    pub allow_read: Vec<PathBuf>,
    pub network: Network,
    pub unix_sockets: bool,
    /// The socket of the issue tracker's daemon, where commands may reach it.
    pub beads_socket: Option<PathBuf>,
    /// Not for commands of an agent but for an agent.
    pub whole: Option<WholeAgent>,
}

/// In every root: what makes programs outside run something, or says what agents may do. Held even
/// where it does not exist.
pub(crate) const PROTECTED: [&str; 7] =
    [".claude", ".mcp.json", ".ralph/config.toml", ".ralph/check", ".ralph/runs", ".vscode", ".idea"];

/// The same, but only where it exists: a folder standing in for these would disturb other programs.
pub(crate) const PROTECTED_IF_THERE: [&str; 4] = [".gitmodules", ".envrc", ".ripgreprc", ".devcontainer"];

/// Where a loop keeps its runs, in every root.
const RUNS: &str = ".ralph/runs";

/// Where agents make checkouts for each other, in every root: below something protected, and theirs.
pub(crate) const CHECKOUTS: &str = ".claude/worktrees";

/// In the home folder, for those who work in it.
pub(crate) const START_FILES: [&str; 17] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    "Library/LaunchAgents",
];

/// Where build tools keep what they have downloaded. Writable, since no build works without.
pub const CACHES: [&str; 16] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".npm",
    ".yarn/berry/cache",
    ".local/share/pnpm/store",
    ".bun/install/cache",
    ".deno",
    ".gradle",
    ".m2/repository",
    ".nuget/packages",
    ".pub-cache",
    "go/pkg",
    "Library/Caches",
];

/// Entries of a home folder that are looked at; it has some hundreds.
const HOME_ENTRIES_MAX: usize = 4096;

/// Of the machine.
const SYSTEM_SECRETS: [&str; 4] = ["/etc/shadow", "/etc/gshadow", "/run/secrets", "/var/run/secrets"];

impl Request {
    /// The rules that this request means on this disk.
    pub fn rules(&self) -> Rules {
        let roots: Vec<PathBuf> = self.roots.iter().map(|root| real(root)).collect();
        let (write, ties) = self.writable(&roots);
        let mut protected = self.guarded(&roots);
        protected.extend(ties);
        // A link is held by what it leads to.
        let targets: Vec<PathBuf> = protected.iter().map(|path| real(path)).collect();
        let inside = |path: &PathBuf| write.iter().any(|tree| path.starts_with(tree));
        let mut rules = Rules {
            protected: protected.into_iter().chain(targets).filter(&inside).collect(),
            checkouts: roots.iter().map(|root| root.join(CHECKOUTS)).filter(&inside).collect(),
            temp: self.replaced_temp(&roots),
            seen: Vec::new(),
            own_temp: Vec::new(),
            hidden: self.hidden(),
            runs: roots.iter().map(|root| root.join(RUNS)).collect(),
            shown: self.allow_read.iter().map(|path| self.place(path)).collect(),
            network: self.network.clone(),
            unix_sockets: self.unix_sockets,
            beads_socket: self.beads_socket.clone(),
            agent: self.whole.as_ref().map(|_| WholeAgent::agent(self)),
            write,
        };
        let places = self.home.iter().chain([&self.config_dir]).map(|path| real(path)).chain(rules.shown.clone());
        let below_temp = |path: &PathBuf| rules.temp.iter().any(|temp| path.starts_with(temp) && path != temp);
        rules.seen = places.filter(below_temp).filter(|path| path.exists()).collect();
        tidy(&mut rules.seen);
        tidy(&mut rules.write);
        tidy(&mut rules.protected);
        tidy(&mut rules.hidden);
        rules
    }

    fn at_home(&self, names: &[&str]) -> Vec<PathBuf> {
        self.home.iter().flat_map(|home| names.iter().map(|name| real(&home.join(name)))).collect()
    }

    /// What may be written, and what must not be of the repositories in it.
    fn writable(&self, roots: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let mut write: Vec<PathBuf> = self.temp.iter().map(|path| real(path)).filter(|path| path.exists()).collect();
        let mut ties = Vec::new();
        if let Some(whole) = &self.whole {
            write.extend(whole.own_folders(self));
        }
        if self.level == Level::Workspace {
            write.extend(roots.iter().cloned());
            write.extend(self.at_home(&CACHES).into_iter().filter(|path| path.exists()));
            write.extend(self.allow_write.iter().map(|path| self.place(path)));
            for root in roots {
                let repository = repository::find(root).unwrap_or_default();
                write.extend(repository.write);
                ties.extend(repository.protected);
            }
        }
        (write, ties)
    }

    /// Temporary folders that a box can have its own of: not those that somebody works in or has opened.
    fn replaced_temp(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let opened: Vec<PathBuf> = self.allow_write.iter().map(|path| self.place(path)).collect();
        let is_used = |temp: &PathBuf| roots.iter().chain(&opened).any(|path| temp.starts_with(path));
        let mut temp: Vec<PathBuf> = self.temp.iter().map(|path| real(path)).filter(|path| path.is_dir()).collect();
        tidy(&mut temp);
        temp.retain(|path| !is_used(path));
        let outer = temp.clone();
        temp.retain(|path| !outer.iter().any(|outer| path.starts_with(outer) && path != outer));
        temp
    }

    fn hidden(&self) -> Vec<PathBuf> {
        let mut hidden = self.at_home(&CREDENTIALS);
        hidden.extend(self.histories());
        hidden.extend(SYSTEM_SECRETS.iter().map(|path| real(Path::new(path))));
        hidden.push(real(&self.config_dir.join(".credentials.json")));
        if let Some(whole) = &self.whole {
            whole.keep_credentials(self, &mut hidden);
        }
        hidden.extend(self.deny_read.iter().map(|path| self.place(path)));
        hidden
    }

    /// Histories of shells and interpreters, by their names: people type credentials there by accident.
    fn histories(&self) -> Vec<PathBuf> {
        let entries = self.home.iter().filter_map(|home| std::fs::read_dir(home).ok()).flatten();
        let entries = entries.filter_map(Result::ok).take(HOME_ENTRIES_MAX);
        let names = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_history));
        names.map(|entry| real(&entry.path())).collect()
    }

    /// What must stay as it is where it lies in something writable.
    fn guarded(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let mut guarded = Vec::new();
        for root in roots {
            guarded.extend(PROTECTED.iter().map(|name| root.join(name)));
            guarded.extend(PROTECTED_IF_THERE.iter().map(|name| root.join(name)).filter(|path| path.exists()));
        }
        // Where somebody works at home, even start files that do not exist are held; elsewhere nobody
        // wants folders standing in for them.
        let works_there = self.home.as_ref().is_some_and(|home| roots.iter().any(|root| real(home).starts_with(root)));
        guarded.extend(self.at_home(&START_FILES).into_iter().filter(|path| works_there || path.exists()));
        let own = real(&self.config_dir);
        if let Some(whole) = &self.whole {
            let opened: Vec<PathBuf> = self.allow_write.iter().map(|path| self.place(path)).collect();
            guarded.retain(|path| real(path) != own);
            let protected = WholeAgent::protected(&own).into_iter().chain(whole.protected_elsewhere(self));
            guarded.extend(protected.filter(|path| !opened.contains(path)));
        } else {
            guarded.push(own);
        }
        guarded.extend(self.deny_write.iter().map(|path| self.place(path)));
        guarded
    }

    fn place(&self, path: &Path) -> PathBuf {
        let below_home = path.strip_prefix("~").ok().zip(self.home.as_deref());
        match (below_home, self.roots.first()) {
            (Some((rest, home)), _) => real(&home.join(rest)),
            (None, Some(root)) => real(&root.join(path)),
            (None, None) => real(path),
        }
    }
}

/// Links followed as far as the path exists; the rest as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

fn tidy(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup();
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn request(root: &Path) -> Request {
        Request {
            level: Level::Workspace,
            roots: vec![root.join("w")],
            home: Some(root.join("h")),
            config_dir: root.join("h/.claude"),
            temp: vec![root.join("t")],
            allow_write: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            allow_read: Vec::new(),
            network: Network::Open,
            unix_sockets: false,
            beads_socket: None,
            whole: None,
        }
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["w/.git/objects", "h/.cache", "h/.ssh", "t", "x"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("w/.git/HEAD"), "").unwrap();
        (dir, root)
    }

    #[test]
    fn a_workspace_can_be_worked_in_and_no_more() {
        let (_dir, root) = scratch();
        let rules = request(&root).rules();
        for (path, fine) in [
            ("w/src/main.rs", true),
            ("w/.git/index", true),
            ("w/.git/hooks/pre-commit", false),
            ("w/.git/config", false),
            ("w/.mcp.json", false),
            ("w/.claude/settings.json", false),
            ("w/.claude/worktrees/a/src/x", true),
            ("w/.ralph/config.toml", false),
            ("w/.ralph/todo.md", true),
            ("h/.cache/pip/x", true),
            ("h/.bashrc", false),
            ("h/.claude/settings.json", false),
            ("t/x", true),
            ("x/y", false),
        ] {
            assert_eq!(rules.may_write(&root.join(path)).is_ok(), fine, "{path}");
        }
        assert!(rules.may_read(&root.join("h/.ssh/id_rsa")).is_err());
        assert!(rules.may_read(&root.join("h/.claude/.credentials.json")).is_err());
        assert!(rules.may_read(&root.join("h/.claude/CLAUDE.md")).is_ok());
    }

    #[test]
    fn read_only_leaves_temporary_files() {
        let (_dir, root) = scratch();
        let rules = Request { level: Level::ReadOnly, ..request(&root) }.rules();
        assert_eq!(rules.write, [root.join("t")]);
        assert!(rules.protected.is_empty());
    }

    #[test]
    fn wishes_count_from_the_project_and_from_home() {
        let (_dir, root) = scratch();
        let rules = Request {
            allow_write: vec!["../x".into(), "~/out".into()],
            deny_write: vec!["generated".into()],
            deny_read: vec![".env".into()],
            allow_read: vec!["~/.ssh/known_hosts".into()],
            ..request(&root)
        }
        .rules();
        assert!(rules.may_write(&root.join("x/y")).is_ok() && rules.may_write(&root.join("h/out/y")).is_ok());
        assert!(rules.may_write(&root.join("w/generated/y")).is_err());
        assert!(rules.may_read(&root.join("w/.env")).is_err());
        assert!(rules.may_read(&root.join("h/.ssh/known_hosts")).is_ok());
    }

    #[test]
    fn who_works_at_home_keeps_its_start_files() {
        let (_dir, root) = scratch();
        let rules = Request { roots: vec![root.join("h")], ..request(&root) }.rules();
        for name in ["h/.bashrc", "h/.ssh/authorized_keys", "h/.claude/settings.json", "h/.gitconfig"] {
            assert!(rules.may_write(&root.join(name)).is_err(), "{name}");
        }
        assert!(rules.may_write(&root.join("h/notes")).is_ok());
    }
}
