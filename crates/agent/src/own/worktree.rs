//! A checkout of an agent's own, so that what it changes meets nobody else's changes.
//!
//! It lies under `.claude/worktrees` on a branch of its own. One in which nothing was changed goes again; else it
//! stays, and whoever sent the agent is told where. Deliberately absent: merging.

use crate::shared::Shared;
use proc::Git;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checking out a large repository takes a while; longer is a broken disk.
const DEADLINE: Duration = Duration::from_mins(2);

pub struct Worktree {
    git: Git,
    repository: PathBuf,
    /// The root of the checkout.
    root: PathBuf,
    /// Where in it the agent works: the same place as whoever sent it.
    pub cwd: PathBuf,
    branch: String,
    base: String,
    settled: bool,
}

impl Worktree {
    pub async fn create(shared: &Shared, agent_id: &str) -> Result<Self, String> {
        let failed = |why: String| format!("The agent was not started: it wants a worktree of its own, but {why}.");
        let (repository, cwd) = (shared.options.places.checkout_root(), &shared.options.cwd);
        if !repository.join(".git").exists() || !cwd.starts_with(&repository) {
            return Err(failed(format!("{} is not in a git repository", cwd.display())));
        }
        let git = Git::find(&shared.options.env).ok_or_else(|| failed("git is not installed".into()))?;
        let git = git.disarmed(&repository, DEADLINE).await;
        let folder = repository.join(".claude/worktrees");
        hide(&folder).map_err(|error| failed(format!("{} cannot be written: {error}", folder.display())))?;
        let root = folder.join(format!("agent-{agent_id}"));
        let branch = format!("worktree-agent-{agent_id}");
        let base = run(&git, &repository, &["rev-parse", "--verify", "HEAD"]).await.map_err(&failed)?;
        let words = ["worktree", "add", "--quiet", "-b", &branch].map(OsStr::new);
        let words: Vec<&OsStr> = words.into_iter().chain([root.as_os_str(), OsStr::new("HEAD")]).collect();
        git.run(&repository, &words, DEADLINE).await.map_err(&failed)?;
        let inner = cwd.strip_prefix(&repository).unwrap_or(Path::new(""));
        let cwd = root.join(inner);
        // A folder that nobody has committed is not in the checkout.
        std::fs::create_dir_all(&cwd).map_err(|error| failed(format!("{}: {error}", cwd.display())))?;
        Ok(Self { git, repository, cwd, root, branch, base: base.trim().to_owned(), settled: false })
    }

    /// Removes it where nothing was changed; else says where the changes are.
    pub async fn settle(mut self) -> Option<String> {
        self.settled = true;
        clear(&self.git, &self.repository, &self.root, &self.branch, &self.base).await
    }
}

impl Drop for Worktree {
    /// The agent was stopped in the middle.
    fn drop(&mut self) {
        if self.settled || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (git, repository, root) = (self.git.clone(), self.repository.clone(), self.root.clone());
        let (branch, base) = (std::mem::take(&mut self.branch), std::mem::take(&mut self.base));
        tokio::task::spawn_local(async move { clear(&git, &repository, &root, &branch, &base).await });
    }
}

async fn clear(git: &Git, repository: &Path, root: &Path, branch: &str, base: &str) -> Option<String> {
    let status = run(git, root, &["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"]).await;
    let head = run(git, root, &["rev-parse", "--verify", "HEAD"]).await;
    // What cannot be told is not thrown away.
    let unchanged = status.is_ok_and(|status| status.is_empty()) && head.is_ok_and(|head| head.trim() == base);
    if !unchanged {
        return Some(format!("Its changes are in the worktree {} on the branch {branch}.", root.display()));
    }
    let words = ["worktree", "remove", "--force"].map(OsStr::new);
    let words: Vec<&OsStr> = words.into_iter().chain([root.as_os_str()]).collect();
    // What is left behind when this fails is an empty checkout under a name of its own.
    let _ = git.run(repository, &words, DEADLINE).await;
    let _ = run(git, repository, &["branch", "-D", "--quiet", branch]).await;
    None
}

async fn run(git: &Git, folder: &Path, words: &[&str]) -> Result<String, String> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    git.run(folder, &words, DEADLINE).await
}

/// The folder of worktrees is no change of the project.
fn hide(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let ignore = folder.join(".gitignore");
    if ignore.exists() { Ok(()) } else { std::fs::write(ignore, "*\n") }
}
