//! The effect of asking git how the repository stands, once, beside what else a session starts with.
//!
//! Whoever wrote the repository decides nothing: git runs disarmed (`process::Git`), looks into no submodule, and a
//! repository that is slow is left out. What the words are: `project::describe_git`.

use crate::Options;
use policy::Resolve as _;
use process::Git;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

#[derive(Default)]
pub struct GitState {
    asked: RefCell<Option<(Instant, JoinHandle<Option<String>>)>>,
    told: RefCell<Option<String>>,
}

impl GitState {
    /// Starts git, where there is a repository and somebody wants to know.
    pub fn start(&self, options: &Options) {
        let Some(deadline) = options.git_state.filter(|_| !options.session.git_branch.is_empty()) else { return };
        let Some(git) = Git::find(&options.env) else { return };
        let asking = tokio::spawn(ask(git, options.cwd.clone(), deadline));
        *self.asked.borrow_mut() = Some((Instant::now() + deadline, asking));
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

async fn ask(git: Git, folder: PathBuf, deadline: Duration) -> Option<String> {
    // Most repositories name no programs, and their files say so; for the others git itself is asked what there is.
    let git =
        if tools::Disk.repository_runs_programs(&folder) { git.without_filters(&folder, deadline).await } else { git };
    let run = async |words: &[&str]| {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        git.run(&folder, &words, deadline).await
    };
    let (status, log) = futures_util::future::join(run(&project::GIT_STATUS), run(&project::GIT_LOG)).await;
    // A repository without a commit has a state, and no log.
    project::describe_git(&status.ok()?, &log.unwrap_or_default())
}
