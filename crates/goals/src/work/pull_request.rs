//! Opening a pull request with `gh`, where it is installed.

use super::Job;
use crate::error::GoalError;
use crate::repository::{Repository, words};
use process::{CaptureLimits, Output, Spec, Stdin};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

const GH: CaptureLimits =
    CaptureLimits { deadline: Duration::from_mins(1), max_output: 64 * 1024, grace: Duration::from_secs(1) };

#[derive(Debug, thiserror::Error)]
pub enum PullRequestError {
    #[error(transparent)]
    Push(#[from] GoalError),
    #[error("'gh' is not on PATH")]
    NoProgram,
    #[error(transparent)]
    Process(#[from] process::SpawnError),
    /// In the words of `gh`.
    #[error("{0}")]
    Refused(String),
}

impl Job {
    /// One for the branch, however often it is asked for.
    pub async fn open_pull_request(&self, repo: &Repository) -> Result<(), PullRequestError> {
        let (goal, branch) = (&self.goal, self.goal.branch());
        let folder = if repo.is_local() { PathBuf::from(&repo.source) } else { self.worker.options.state.clone() };
        let mut place = Vec::new();
        if repo.is_local() {
            let refspec = format!("refs/heads/{branch}:refs/heads/{branch}");
            let push = words!["push", "--quiet", "--force", "origin", &refspec];
            repo.at_source(push, "push").await?;
        } else {
            place.extend(["--repo".to_owned(), repo.source.clone()]);
        }
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).chain(place.clone()).collect::<Vec<_>>();
        if self.gh(&folder, &words(&["pr", "view", &branch, "--json", "url"])).await.is_ok() {
            return Ok(());
        }
        // What people and agents wrote is an argument each, never part of a command.
        let title = format!("--title={}", goal.title);
        let body = format!("--body={}\n\nRalph-Goal: {}", goal.spec.text, goal.id);
        let (head, base) = (format!("--head={branch}"), format!("--base={}", goal.base));
        self.gh(&folder, &words(&["pr", "create", &head, &base, &title, &body])).await.map(drop)
    }

    async fn gh(&self, folder: &Path, args: &[String]) -> Result<String, PullRequestError> {
        let env = &self.worker.options.env;
        let path = env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path.as_os_str());
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let program = folders.map(|folder| folder.join("gh")).find(|program| program.is_file());
        let spec = Spec {
            program: program.ok_or(PullRequestError::NoProgram)?.into_os_string(),
            args: args.iter().map(OsString::from).collect(),
            cwd: folder.to_owned(),
            env: env.iter().filter(|(name, _)| name != "RALPH_STORE").cloned().collect(),
            stdin: Stdin::Null,
            output: Output::Pipes,
            arg0: None,
        };
        let done = process::capture(spec, GH).await?;
        if done.exit.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(PullRequestError::Refused(said.lines().last().unwrap_or("'gh' gave no reason").to_owned()))
    }
}
