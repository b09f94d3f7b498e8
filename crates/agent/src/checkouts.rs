//! Linked worktrees under `.claude/worktrees`, each on a branch of its own: for the session (`--worktree`) and for agents.
//!
//! Deliberately absent: removing them, and merging.

use process::{Env, Git};
use settings::Places;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checking out a large repository takes a while; longer is a broken disk.
pub const DEADLINE: Duration = Duration::from_mins(2);

/// What happens where a worktree of this name is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    Use,
}

pub struct Checkout {
    pub git: Git,
    /// The checkout that it was made from.
    pub repository: PathBuf,
    pub root: PathBuf,
    /// Where in it the work goes on: the same place as in the repository.
    pub cwd: PathBuf,
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
}

/// Makes the worktree `name`, or uses the one that is there.
pub async fn check_out(env: &Env, places: &Places, name: &str, existing: Existing) -> Result<Checkout, String> {
    let (repository, cwd) = (places.checkout_root(), &places.cwd);
    if !repository.join(".git").exists() || !cwd.starts_with(&repository) {
        return Err(format!("{} is not in a git repository", cwd.display()));
    }
    let git = Git::find(env).ok_or("git is not installed")?;
    let git = git.without_filters(&repository, DEADLINE).await;
    let folder = repository.join(".claude/worktrees");
    let unwritable = |error: std::io::Error| format!("{} cannot be written: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    // A link that came with the repository must not lead us out of it.
    if folder.canonicalize().map_err(unwritable)? != folder {
        return Err(format!("a symbolic link is in the place of {}", folder.display()));
    }
    hide(&folder).map_err(unwritable)?;
    let root = folder.join(name);
    let branch = format!("worktree-{name}");
    let base = run(&git, &repository, &["rev-parse", "--verify", "HEAD"]).await?;
    if root.symlink_metadata().is_ok() {
        if existing == Existing::Refuse || !is_worktree_of(&git, &root, &repository).await {
            return Err(format!("{} exists and is no worktree of this repository", root.display()));
        }
    } else {
        add(&git, &repository, &root, &branch).await?;
    }
    let inner = cwd.strip_prefix(&repository).unwrap_or(Path::new(""));
    let cwd = root.join(inner);
    // A folder that nobody has committed is not in the checkout.
    std::fs::create_dir_all(&cwd).map_err(|error| format!("{}: {error}", cwd.display()))?;
    Ok(Checkout { git, repository, root, cwd, branch, base: base.trim().to_owned() })
}

/// A branch that is left of a worktree that was removed is checked out again.
async fn add(git: &Git, repository: &Path, root: &Path, branch: &str) -> Result<(), String> {
    let reference = format!("refs/heads/{branch}");
    let is_known = run(git, repository, &["show-ref", "--verify", "--quiet", &reference]).await.is_ok();
    let mut words: Vec<&OsStr> = ["worktree", "add", "--quiet"].map(OsStr::new).to_vec();
    if is_known {
        words.extend([root.as_os_str(), OsStr::new(branch)]);
    } else {
        words.extend([OsStr::new("-b"), OsStr::new(branch), root.as_os_str(), OsStr::new("HEAD")]);
    }
    git.run(repository, &words, DEADLINE).await.map(drop).map_err(|error| error.to_string())
}

async fn is_worktree_of(git: &Git, root: &Path, repository: &Path) -> bool {
    let top = run(git, root, &["rev-parse", "--show-toplevel"]).await;
    let shared = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let (own, theirs) = (run(git, root, &shared).await, run(git, repository, &shared).await);
    let is_real = root.canonicalize().is_ok_and(|real| real == root);
    is_real && top.is_ok_and(|top| Path::new(top.trim()) == root) && own.is_ok() && own == theirs
}

pub async fn run(git: &Git, folder: &Path, words: &[&str]) -> Result<String, String> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    git.run(folder, &words, DEADLINE).await.map_err(|error| error.to_string())
}

/// The folder of worktrees is no change of the project.
fn hide(folder: &Path) -> std::io::Result<()> {
    // Commands may write in this folder, so never through a link of theirs.
    match std::fs::File::create_new(folder.join(".gitignore")) {
        Ok(mut ignore) => ignore.write_all(b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
