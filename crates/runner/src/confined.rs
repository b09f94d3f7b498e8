//! An agent that is not ours, confined as a whole: the agent and everything that it starts are in the sandbox.
//!
//! Made once for a run and kept to its end, since an agent may leave something running. Deliberately absent:
//! what the rules are.

use crate::helper::set;
use process::Env;
use sandbox::Sandbox;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longer than anybody's state; a file that long is not read into memory.
const STATE_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct ConfinedAgent {
    /// For iterations.
    pub work: Arc<Sandbox>,
    /// For agents that only read: summaries.
    pub look: Arc<Sandbox>,
    /// How the names of variables begin that it needs though they look like credentials.
    pub keeps: Vec<String>,
    /// Variables that are set for it.
    pub sets: Env,
    pub state: Option<CopiedState>,
}

/// The file that an agent keeps its state in lies in the home folder, and it wants to replace it there, which
/// the sandbox cannot allow. So it gets a copy in its own folder, anew for every start.
#[derive(Debug, Clone)]
pub struct CopiedState {
    pub from: PathBuf,
    pub to: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be copied to {}: {source}", from.display(), to.display())]
pub struct CopyError {
    from: PathBuf,
    to: PathBuf,
    source: io::Error,
}

/// Beside a copy of ours: without it the file is somebody's own, and stays.
const MARK: &str = ".claude.json.copied";

impl ConfinedAgent {
    /// Sets the environment of the agent: credentials removed, proxy and own variables set.
    pub(crate) fn prepare_env(&self, sandbox: &Sandbox, env: &mut Env) {
        process::scrub::credentials_but(env, &self.keeps);
        for (name, value) in sandbox.proxy_env().iter().chain(&self.sets) {
            set(env, &name.to_string_lossy(), Some(OsStr::new(value)));
        }
    }

    /// Before every start.
    pub(crate) fn copy_state(&self) -> Result<(), CopyError> {
        let Some(CopiedState { from, to }) = &self.state else { return Ok(()) };
        copy(from, to).map_err(|source| CopyError { from: from.clone(), to: to.clone(), source })
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mark = to.with_file_name(MARK);
    let marked = mark.symlink_metadata().is_ok();
    if to.symlink_metadata().is_ok() && !marked {
        return Ok(());
    }
    let file = match File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(STATE_MAX).read_to_end(&mut text)?;
    if !marked {
        // Never through a link: the agent may write in this folder.
        File::create_new(&mark)?;
    }
    crate::files::replace(to, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_renewed_and_what_is_somebodys_own_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join(".claude.json"));
        copy(&from, &to).unwrap();
        assert!(!to.exists(), "nothing to copy");
        for text in ["one", "two"] {
            std::fs::write(&from, text).unwrap();
            copy(&from, &to).unwrap();
            assert_eq!(std::fs::read_to_string(&to).unwrap(), text);
        }
        std::fs::remove_file(dir.path().join(MARK)).unwrap();
        std::fs::write(&to, "mine").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "mine");
    }
}
