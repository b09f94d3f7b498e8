//! Where things are: the folder we work in, the user's own folder, the administrator's.
//!
//! Absent: reading the environment. The caller says where home is; this only derives the rest.

use std::path::{Path, PathBuf};

use crate::files;

/// A pointer file of git is one short line; anything longer is not one.
const GIT_POINTER_MAX: u64 = 8 * 1024;
/// Stands in for a home that nobody named: nothing can exist below it, so reads miss and writes fail.
const NOWHERE: &str = "/dev/null";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub cwd: PathBuf,
    /// Another checkout whose project configuration counts instead of the working folder's.
    pub project: Option<PathBuf>,
    pub home: Option<PathBuf>,
    pub config_dir: PathBuf,
    pub config_dir_is_custom: bool,
    pub managed_dir: PathBuf,
    /// Where plugins are kept; `None` for the usual place.
    pub plugin_cache: Option<PathBuf>,
}

impl Places {
    /// `cwd` must be real (no links). An empty `claude_config_dir` counts as not set.
    pub fn new(cwd: PathBuf, home: Option<PathBuf>, claude_config_dir: Option<PathBuf>) -> Self {
        let home = home.filter(|home| home.is_absolute());
        let custom = claude_config_dir.filter(|dir| !dir.as_os_str().is_empty());
        let config_dir_is_custom = custom.is_some();
        let config_dir = match custom {
            Some(dir) => cwd.join(dir),
            None => home.as_deref().unwrap_or(Path::new(NOWHERE)).join(".claude"),
        };
        Self {
            cwd,
            project: None,
            home,
            config_dir,
            config_dir_is_custom,
            managed_dir: PathBuf::from("/etc/claude-code"),
            plugin_cache: None,
        }
    }

    /// The folder that holds dot files beside the configuration folder; a custom one moves them inside.
    fn base(&self) -> &Path {
        match &self.home {
            _ if self.config_dir_is_custom => &self.config_dir,
            Some(home) => home,
            None => Path::new(NOWHERE),
        }
    }

    pub fn global_file(&self) -> PathBuf {
        self.base().join(".claude.json")
    }

    /// Files that may hold an API key, first match first.
    pub fn key_files(&self) -> [PathBuf; 2] {
        [self.base().join(".claude.json.api"), self.global_file()]
    }

    /// Files that may hold a login, first match first.
    pub fn login_files(&self) -> [PathBuf; 2] {
        [self.config_dir.join(".credentials.json"), self.base().join(".claude-oauth-credentials.json")]
    }

    pub fn user_settings(&self) -> PathBuf {
        self.config_dir.join("settings.json")
    }

    /// The folder whose project configuration counts.
    pub fn project_dir(&self) -> &Path {
        self.project.as_deref().unwrap_or(&self.cwd)
    }

    pub fn project_settings(&self) -> PathBuf {
        self.project_dir().join(".claude/settings.json")
    }

    /// In the main checkout, so that every worktree of a repository shares it.
    pub fn local_settings(&self) -> PathBuf {
        self.project_root().join(".claude/settings.local.json")
    }

    /// The nearest folder upwards that git calls a checkout, else the working folder.
    pub fn checkout_root(&self) -> PathBuf {
        let project = self.project_dir();
        project.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(project).to_owned()
    }

    /// The main checkout of the repository we are in, else the working folder.
    pub fn project_root(&self) -> PathBuf {
        let checkout = self.checkout_root();
        main_checkout(&checkout).unwrap_or(checkout)
    }

    /// From the working folder up to the root of its checkout, nearest first.
    pub fn folders_up(&self) -> Vec<PathBuf> {
        let root = self.checkout_root();
        self.project_dir().ancestors().take_while(|dir| dir.starts_with(&root)).map(Path::to_owned).collect()
    }

    /// Whether `dir/.claude` is the user's own configuration and not a project's.
    pub fn is_own_config(&self, dot_claude: &Path) -> bool {
        dot_claude == self.config_dir || self.home.as_ref().is_some_and(|home| *dot_claude == home.join(".claude"))
    }

    /// `~`, `~/x`, relative and absolute paths as a person writes them.
    pub fn resolve(&self, written: &str, relative_to: &Path) -> PathBuf {
        match (written.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => relative_to.join(written),
        }
    }
}

/// A linked worktree points into `<main>/.git/worktrees/<name>`. A repository can write any pointer it likes,
/// so the claim counts only if the main checkout points back: else a clone could borrow another folder's trust.
pub(crate) fn main_checkout(checkout: &Path) -> Option<PathBuf> {
    let pointer = checkout.join(".git");
    let line = files::read_text(&pointer, GIT_POINTER_MAX).ok()??;
    let git_dir = checkout.join(line.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let worktrees = git_dir.parent()?;
    let common = worktrees.parent()?;
    if worktrees.file_name()? != "worktrees" || common.file_name()? != ".git" {
        return None;
    }
    let back = files::read_text(&git_dir.join("gitdir"), GIT_POINTER_MAX).ok()??;
    let points_back = Path::new(back.trim()).canonicalize().ok()? == pointer.canonicalize().ok()?;
    points_back.then(|| common.parent().map(Path::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn config_dir_moves_everything_of_the_user() {
        let home = PathBuf::from("/home/u");
        let usual = Places::new("/w".into(), Some(home.clone()), None);
        assert_eq!(usual.config_dir, home.join(".claude"));
        assert_eq!(usual.global_file(), home.join(".claude.json"));
        let empty = Places::new("/w".into(), Some(home.clone()), Some(PathBuf::new()));
        assert_eq!(empty, usual);
        let custom = Places::new("/w".into(), Some(home), Some("/c".into()));
        assert_eq!(custom.global_file(), PathBuf::from("/c/.claude.json"));
        assert_eq!(custom.key_files()[0], PathBuf::from("/c/.claude.json.api"));
        assert_eq!(custom.login_files()[1], PathBuf::from("/c/.claude-oauth-credentials.json"));
    }

    #[test]
    fn without_a_home_nothing_in_the_folder_becomes_the_users() {
        for home in [None, Some(PathBuf::new()), Some(PathBuf::from("relative"))] {
            let places = Places::new("/w".into(), home, None);
            assert!(!places.config_dir.starts_with("/w"));
            assert!(!places.global_file().starts_with("/w"));
        }
    }

    #[test]
    fn project_root_is_the_git_root_or_the_folder() {
        let bed = Bed::new();
        assert_eq!(bed.places.project_root(), bed.places.cwd);
        bed.dir("work/.git");
        let inner = Places { cwd: bed.dir("work/a/b"), ..bed.places.clone() };
        assert_eq!(inner.project_root(), bed.places.cwd);
        assert_eq!(inner.folders_up(), [bed.path("work/a/b"), bed.path("work/a"), bed.path("work")]);
    }

    #[test]
    fn worktree_belongs_to_its_main_checkout_only_if_that_says_so() {
        let bed = Bed::new();
        let git_dir = bed.dir("main/.git/worktrees/wt");
        let pointer = bed.file("work/.git", &format!("gitdir: {}\n", git_dir.display()));
        assert_eq!(bed.places.project_root(), bed.places.cwd, "no back link: a borrowed pointer");
        bed.file("main/.git/worktrees/wt/gitdir", &format!("{}\n", pointer.display()));
        assert_eq!(bed.places.project_root(), bed.path("main"));
    }

    #[test]
    fn a_worktree_pointer_into_the_clone_itself_borrows_nothing() {
        let bed = Bed::new();
        let main = bed.dir("main/.git");
        let fake = bed.dir("work/fake/worktrees/x");
        let pointer = bed.file("work/.git", &format!("gitdir: {}\n", fake.display()));
        bed.file("work/fake/worktrees/x/gitdir", &pointer.display().to_string());
        bed.file("work/fake/worktrees/x/commondir", &main.display().to_string());
        assert_eq!(bed.places.project_root(), bed.places.cwd);
    }
}
