//! Getting marketplaces and plugins: folders as they are, repositories by git, which obeys nobody's configuration.

use crate::environment::Environment;
use crate::runtime::{RuntimeError, runtime};
use process::{Git, GitError};
use project::{Fetching, ProjectError, Source};
use settings::Places;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A clone over a slow line; longer is no line.
const CLONE: Duration = Duration::from_mins(5);

/// How long git may take, where the user sets it.
pub fn limit(environment: &Environment) -> Duration {
    environment.number("CLAUDE_CODE_PLUGIN_GIT_TIMEOUT_MS").filter(|ms| *ms > 0).map_or(CLONE, Duration::from_millis)
}

/// Why a marketplace or a plugin did not come.
#[derive(Debug, thiserror::Error)]
pub enum PluginFetchError {
    #[error("it cannot be fetched: {0}.")]
    Unsupported(String),
    #[error("git is needed to fetch a repository; install it.")]
    NoGit,
    #[error("{url} cannot be cloned: {cause}")]
    Clone { url: String, cause: GitError },
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

pub enum Fetched {
    Folder(PathBuf),
    Clone(Fetching),
}

pub fn fetch(
    source: &Source,
    places: &Places,
    environment: &Environment,
    limit: Duration,
) -> Result<Fetched, PluginFetchError> {
    match source {
        Source::Folder(folder) => Ok(Fetched::Folder(folder.clone())),
        Source::Unsupported(why) => Err(PluginFetchError::Unsupported(why.clone())),
        Source::Git { url, at } => {
            let git = Git::find(&environment.vars).ok_or(PluginFetchError::NoGit)?;
            let fetching = Fetching::begin(places)?;
            runtime()?
                .block_on(clone(&git, (url, at.as_deref()), &fetching.path(), &environment.cwd, limit))
                .map_err(|cause| PluginFetchError::Clone { url: url.clone(), cause })?;
            Ok(Fetched::Clone(fetching))
        }
    }
}

/// A branch or a tag is cloned by itself; a commit needs the history it is in.
async fn clone(
    git: &Git,
    (url, at): (&str, Option<&str>),
    to: &Path,
    cwd: &Path,
    limit: Duration,
) -> Result<(), GitError> {
    let is_commit = at.is_some_and(|at| at.len() >= 7 && at.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let mut words = vec![OsStr::new("clone"), OsStr::new("--quiet"), OsStr::new("--no-recurse-submodules")];
    if !is_commit {
        words.extend([OsStr::new("--depth=1")]);
    }
    let branch = at.filter(|_| !is_commit).map(|at| format!("--branch={at}"));
    words.extend(branch.as_deref().map(OsStr::new));
    words.extend([OsStr::new("--"), OsStr::new(url), to.as_os_str()]);
    git.run(cwd, &words, limit).await?;
    if let Some(commit) = at.filter(|_| is_commit) {
        let words = ["checkout", "--quiet", "--detach", commit].map(OsStr::new);
        git.run(to, &words, limit).await?;
    }
    Ok(())
}
