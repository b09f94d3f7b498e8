//! Whether git tracks a folder's `.claude/settings.local.json`. A file that came with a repository never grants anything
//! before the user trusts the folder; one that the user wrote beside it may.
//!
//! git runs disarmed and with a deadline. No git, no repository, an error: the file counts as tracked.

use crate::environment::Environment;
use crate::runtime::runtime;
use process::Git;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// Reading an index takes milliseconds; a start does not wait longer for it.
const DEADLINE: Duration = Duration::from_secs(2);

/// `top` is the checkout that holds the file, `folder` the path of `.claude` in it.
pub fn is_untracked(environment: &Environment, top: &Path, folder: &Path, name: &str) -> bool {
    let (Some(git), Some(folder)) = (Git::find(&environment.vars), folder.to_str()) else { return false };
    // Also what differs in case only: some file systems take it for the same.
    let pattern = format!(":(top,literal,icase){folder}");
    let words = ["ls-files", "-z", "--full-name", "--", &pattern].map(OsStr::new);
    // On a thread of its own: some callers already run inside of a runtime.
    let ask = || {
        let runtime = runtime().ok()?;
        runtime.block_on(async {
            let git = git.clone().without_filters(top, DEADLINE).await;
            git.run(top, &words, DEADLINE).await.ok()
        })
    };
    let listed = std::thread::scope(|scope| scope.spawn(ask).join().ok().flatten());
    let file = format!("{folder}/{name}");
    // An entry for the folder itself is a submodule or a link: what is below came with it.
    let is_it = |entry: &str| [folder, file.as_str()].iter().any(|path| entry.to_lowercase() == path.to_lowercase());
    listed.is_some_and(|listed| !listed.split('\0').any(is_it))
}
