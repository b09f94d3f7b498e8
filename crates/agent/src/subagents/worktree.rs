//! A checkout of an agent's own, so that what it changes meets nobody else's changes.
//!
//! It lies under `.claude/worktrees` on a branch of its own. One in which nothing was changed goes again; else it
//! stays, and whoever sent the agent is told where. Deliberately absent: merging.

use crate::Options;
use crate::hook_runner::HookRunner;
use hooks::{HookEvent, WorktreeCreate, WorktreeRemove};
use process::Git;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// Checking out a large repository takes a while; longer is a broken disk.
const DEADLINE: Duration = Duration::from_mins(2);

pub struct Worktree {
    /// The root of the checkout.
    root: PathBuf,
    /// Where in it the agent works: the same place as whoever sent it.
    pub cwd: PathBuf,
    maker: Maker,
    settled: bool,
}

/// Who made it, and removes it.
#[derive(Clone)]
enum Maker {
    Git {
        git: Git,
        repository: PathBuf,
        branch: String,
        base: String,
    },
    /// A hook, for projects that are kept otherwise. It knows what to do with changes.
    Hook(Weak<HookRunner>),
}

impl Worktree {
    pub async fn create(options: &Options, hooks: &Rc<HookRunner>, agent_id: &str) -> Result<Self, String> {
        let name = format!("agent-{agent_id}");
        match made_by_hook(options, hooks, &name).await {
            Some(Ok(root)) => {
                let maker = Maker::Hook(Rc::downgrade(hooks));
                Ok(Self { cwd: root.clone(), root, maker, settled: false })
            }
            Some(Err(why)) => Err(format!("The agent was not started: {why}.")),
            None => Self::by_git(options, &name).await,
        }
    }

    async fn by_git(options: &Options, name: &str) -> Result<Self, String> {
        let failed = |why: String| format!("The agent was not started: it wants a worktree of its own, but {why}.");
        let (repository, cwd) = (options.places.checkout_root(), &options.cwd);
        if !repository.join(".git").exists() || !cwd.starts_with(&repository) {
            return Err(failed(format!("{} is not in a git repository", cwd.display())));
        }
        let git = Git::find(&options.env).ok_or_else(|| failed("git is not installed".into()))?;
        let git = git.disarmed(&repository, DEADLINE).await;
        let folder = repository.join(".claude/worktrees");
        hide(&folder).map_err(|error| failed(format!("{} cannot be written: {error}", folder.display())))?;
        let root = folder.join(name);
        let branch = format!("worktree-{name}");
        let base = run(&git, &repository, &["rev-parse", "--verify", "HEAD"]).await.map_err(&failed)?;
        let words = ["worktree", "add", "--quiet", "-b", &branch].map(OsStr::new);
        let words: Vec<&OsStr> = words.into_iter().chain([root.as_os_str(), OsStr::new("HEAD")]).collect();
        git.run(&repository, &words, DEADLINE).await.map_err(|error| failed(error.to_string()))?;
        let inner = cwd.strip_prefix(&repository).unwrap_or(Path::new(""));
        let cwd = root.join(inner);
        // A folder that nobody has committed is not in the checkout.
        std::fs::create_dir_all(&cwd).map_err(|error| failed(format!("{}: {error}", cwd.display())))?;
        let maker = Maker::Git { git, repository, branch, base: base.trim().to_owned() };
        Ok(Self { root, cwd, maker, settled: false })
    }

    /// Removes it where nothing was changed; else says where the changes are.
    pub async fn settle(mut self) -> Option<String> {
        self.settled = true;
        clear(&self.maker, &self.root).await
    }
}

impl Drop for Worktree {
    /// The agent was stopped in the middle.
    fn drop(&mut self) {
        if self.settled || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (maker, root) = (self.maker.clone(), self.root.clone());
        tokio::task::spawn_local(async move { clear(&maker, &root).await });
    }
}

/// Where a hook has made the checkout; nothing where no hook makes any.
async fn made_by_hook(options: &Options, hooks: &HookRunner, name: &str) -> Option<Result<PathBuf, String>> {
    if !hooks.wants(HookEvent::WorktreeCreate) {
        return None;
    }
    let answer = hooks.fire_outside(&WorktreeCreate { name }).await;
    if let Some(reason) = answer.blocked.or(answer.stop) {
        return Some(Err(format!("the WorktreeCreate hook failed: {reason}")));
    }
    let path = answer.worktree_path.map(|path| options.cwd.join(path.trim()));
    let made = path.filter(|path| path.is_dir());
    Some(made.ok_or_else(|| "the WorktreeCreate hook named no folder".into()))
}

async fn clear(maker: &Maker, root: &Path) -> Option<String> {
    let (git, repository, branch, base) = match maker {
        Maker::Git { git, repository, branch, base } => (git, repository, branch, base),
        Maker::Hook(hooks) => {
            if let Some(hooks) = hooks.upgrade() {
                hooks.fire_outside(&WorktreeRemove { worktree_path: root }).await;
            }
            return None;
        }
    };
    // The agent may have added filters.
    let git = &git.clone().disarmed(repository, DEADLINE).await;
    let status = run(git, root, &["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=all"]).await;
    let head = run(git, root, &["rev-parse", "--verify", "HEAD"]).await;
    // What cannot be told is not thrown away.
    let unchanged = status.is_ok_and(|status| status.is_empty()) && head.is_ok_and(|head| head.trim() == *base);
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
    git.run(folder, &words, DEADLINE).await.map_err(|error| error.to_string())
}

/// The folder of worktrees is no change of the project.
fn hide(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    // Commands may write in this folder, so never through a link of theirs.
    match std::fs::File::create_new(folder.join(".gitignore")) {
        Ok(mut ignore) => ignore.write_all(b"*\n"),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
