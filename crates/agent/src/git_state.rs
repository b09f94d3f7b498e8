//! The effect of asking git how the repository stands, once, beside what else a session starts with.
//!
//! Whoever wrote the repository decides nothing: git runs disarmed (`process::Git`), looks into no submodule, and a
//! repository that is slow is left out. What the words are: `project::describe_git`.

use crate::Options;
use policy::Resolve as _;
use process::Git;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// From the start of git to the moment when the session goes on without it.
const DEADLINE: Duration = Duration::from_millis(200);

#[derive(Default)]
pub struct GitState {
    asked: RefCell<Option<(Instant, JoinHandle<Option<String>>)>>,
    told: RefCell<Option<String>>,
}

impl GitState {
    /// Starts git, where there is a repository and somebody wants to know.
    pub fn start(&self, options: &Options) {
        if !options.git_state || options.session.git_branch.is_empty() {
            return;
        }
        let Some(git) = Git::find(&options.env) else { return };
        let asking = tokio::spawn(ask(git, options.cwd.clone()));
        *self.asked.borrow_mut() = Some((Instant::now() + DEADLINE, asking));
    }

    /// Waits for the answer, as long as the deadline allows. Dropping the task ends git.
    pub async fn settle(&self) {
        let Some((deadline, mut asking)) = self.asked.take() else { return };
        match timeout_at(deadline, &mut asking).await {
            Ok(Ok(told)) => *self.told.borrow_mut() = told,
            Ok(Err(_)) => {}
            Err(_) => asking.abort(),
        }
    }

    pub fn text(&self) -> Option<String> {
        self.told.borrow().clone()
    }
}

async fn ask(git: Git, folder: std::path::PathBuf) -> Option<String> {
    // Most repositories name no programs, and their files say so; for the others git itself is asked what there is.
    let git = if tools::Disk.repository_runs_programs(&folder) { git.disarmed(&folder, DEADLINE).await } else { git };
    let (status, log) =
        futures_util::future::join(run(&git, &folder, &project::GIT_STATUS), run(&git, &folder, &project::GIT_LOG))
            .await;
    // A repository without a commit has a state, and no log.
    project::describe_git(&status.ok()?, &log.unwrap_or_default())
}

async fn run(git: &Git, folder: &Path, words: &[&str]) -> Result<String, String> {
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    git.run(folder, &words, DEADLINE).await
}
