//! Linked worktrees under `.claude/worktrees`, each on a branch of its own: for the session (`--worktree`) and for agents.
//!
//! Deliberately absent: removing them, and merging.

use process::{Env, Git, GitError};
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

/// Why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("{} has no commit yet, so there is nothing to check out; make one with 'git commit'", .0.display())]
    NoCommit(PathBuf),
    #[error("git is not installed")]
    NoGit,
    #[error("{} cannot be written: {why}", .folder.display())]
    Unwritable { folder: PathBuf, why: std::io::Error },
    #[error("a symbolic link is in the place of {}", .0.display())]
    Link(PathBuf),
    #[error("{} exists and is no worktree of this repository", .0.display())]
    Exists(PathBuf),
    #[error("{}: {why}", .folder.display())]
    Folder { folder: PathBuf, why: std::io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
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
pub async fn check_out(env: &Env, places: &Places, name: &str, existing: Existing) -> Result<Checkout, CheckoutError> {
    let (repository, cwd) = (places.checkout_root(), &places.cwd);
    if !repository.join(".git").exists() || !cwd.starts_with(&repository) {
        return Err(CheckoutError::NoRepository(cwd.clone()));
    }
    let git = Git::find(env).ok_or(CheckoutError::NoGit)?;
    let git = git.without_filters(&repository, DEADLINE).await;
    let base = run(&git, &repository, &["rev-parse", "--verify", "--quiet", "HEAD"]).await;
    let base = base.map_err(|_| CheckoutError::NoCommit(repository.clone()))?;
    let folder = repository.join(".claude/worktrees");
    let unwritable = |why: std::io::Error| CheckoutError::Unwritable { folder: folder.clone(), why };
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    // A link that came with the repository must not lead us out of it.
    if folder.canonicalize().map_err(unwritable)? != folder {
        return Err(CheckoutError::Link(folder));
    }
    hide(&folder).map_err(unwritable)?;
    let root = folder.join(name);
    let branch = format!("worktree-{name}");
    if root.symlink_metadata().is_ok() {
        if existing == Existing::Refuse || !is_worktree_of(&git, &root, &repository).await {
            return Err(CheckoutError::Exists(root));
        }
    } else {
        add(&git, &repository, &root, &branch).await?;
    }
    let inner = cwd.strip_prefix(&repository).unwrap_or(Path::new(""));
    let cwd = root.join(inner);
    // A folder that nobody has committed is not in the checkout.
    std::fs::create_dir_all(&cwd).map_err(|why| CheckoutError::Folder { folder: cwd.clone(), why })?;
    Ok(Checkout { git, repository, root, cwd, branch, base: base.trim().to_owned() })
}

/// A branch that is left of a worktree that was removed is checked out again.
async fn add(git: &Git, repository: &Path, root: &Path, branch: &str) -> Result<(), GitError> {
    let reference = format!("refs/heads/{branch}");
    let is_known = run(git, repository, &["show-ref", "--verify", "--quiet", &reference]).await.is_ok();
    let mut words: Vec<&OsStr> = ["worktree", "add", "--quiet"].map(OsStr::new).to_vec();
    if is_known {
        words.extend([root.as_os_str(), OsStr::new(branch)]);
    } else {
        words.extend([OsStr::new("-b"), OsStr::new(branch), root.as_os_str(), OsStr::new("HEAD")]);
    }
    git.run(repository, &words, DEADLINE).await.map(drop)
}

async fn is_worktree_of(git: &Git, root: &Path, repository: &Path) -> bool {
    let top = run(git, root, &["rev-parse", "--show-toplevel"]).await;
    let shared = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let (own, theirs) = (run(git, root, &shared).await, run(git, repository, &shared).await);
    let is_real = root.canonicalize().is_ok_and(|real| real == root);
    let is_shared = own.is_ok_and(|own| theirs.is_ok_and(|theirs| own == theirs));
    is_real && top.is_ok_and(|top| Path::new(top.trim()) == root) && is_shared
}

pub async fn run(git: &Git, folder: &Path, words: &[&str]) -> Result<String, GitError> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    git.run(folder, &words, DEADLINE).await
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
