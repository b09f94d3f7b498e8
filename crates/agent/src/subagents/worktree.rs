//! A checkout of an agent's own, so that what it changes meets nobody else's changes.
//!
//! It lies under `.claude/worktrees` on a branch of its own. One in which nothing was changed goes again; else it
//! stays, and whoever sent the agent is told where. Deliberately absent: merging.

use super::SubagentError;
use crate::Options;
use crate::checkouts::{Checkout, DEADLINE, Existing, check_out, run};
use conversation::HookRunner;
use hooks::{HookEvent, WorktreeCreate, WorktreeRemove};
use process::Git;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};

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
    pub async fn create(options: &Options, hooks: &Rc<HookRunner>, agent_id: &str) -> Result<Self, SubagentError> {
        let name = format!("agent-{agent_id}");
        match made_by_hook(options, hooks, &name).await {
            Some(root) => {
                let root = root?;
                let maker = Maker::Hook(Rc::downgrade(hooks));
                Ok(Self { cwd: root.clone(), root, maker, settled: false })
            }
            None => Self::by_git(options, &name).await,
        }
    }

    async fn by_git(options: &Options, name: &str) -> Result<Self, SubagentError> {
        let made = check_out(&options.env, &options.places, name, Existing::Refuse).await?;
        let Checkout { git, repository, root, cwd, branch, base } = made;
        let maker = Maker::Git { git, repository, branch, base };
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
async fn made_by_hook(options: &Options, hooks: &HookRunner, name: &str) -> Option<Result<PathBuf, SubagentError>> {
    if !hooks.wants(HookEvent::WorktreeCreate) {
        return None;
    }
    let answer = hooks.fire_outside(&WorktreeCreate { name }).await;
    if let Some(reason) = answer.blocked.or(answer.stop) {
        return Some(Err(SubagentError::WorktreeHook(reason)));
    }
    let path = answer.worktree_path.map(|path| options.cwd.join(path.trim()));
    let made = path.filter(|path| path.is_dir());
    Some(made.ok_or(SubagentError::NoWorktree))
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
    let git = &git.clone().without_filters(repository, DEADLINE).await;
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
