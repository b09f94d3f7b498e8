//! Why an agent, a reviewer or a check of a run cannot begin.

use crate::confined::CopyError;
use crate::prompt::SourceError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{} cannot be written: {source}", file.display())]
    Write { file: PathBuf, source: io::Error },
    #[error(transparent)]
    State(#[from] CopyError),
    #[error(transparent)]
    Process(#[from] process::SpawnError),
    #[error("the agent has no pipes")]
    NoPipes,
    #[error("check_from needs a git repository, and this folder is none")]
    NoRepository,
    #[error("{commit} has no {script} (check_from); name a commit that has it")]
    NoScript { commit: String, script: String },
    #[error("git cannot tell what changed")]
    NoDiff,
}
