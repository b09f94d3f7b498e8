//! What can go wrong, each with the file it happened to.

use settings::SettingsError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("--agents: {0}")]
    Agents(String),
    #[error("cannot read {file}: {reason}")]
    Document { file: PathBuf, reason: String },
    #[error("{file} was left untouched: {reason}; repair or move it, then try again")]
    Refused { file: PathBuf, reason: String },
    #[error("cannot write {file}: {source}")]
    Write { file: PathBuf, source: std::io::Error },
    /// A settings or state file that a plugin or a marketplace is recorded in.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
