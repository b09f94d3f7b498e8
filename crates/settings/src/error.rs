//! What can go wrong, each with the file it happened to and what to do next.
//!
//! A settings file that exists and cannot be understood is an error, whoever wrote it: a denial in it would be lost.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("unknown setting source `{0}`: use a comma-separated list of user, project, local")]
    UnknownSource(String),
    #[error("--settings {file}: {reason}")]
    FlagFile { file: PathBuf, reason: String },
    #[error("--settings is not a JSON object ({0}): give a file or text such as {{\"model\":\"sonnet\"}}")]
    FlagJson(String),
    #[error("--managed-settings is not a JSON object: {0}")]
    ManagedFlag(String),
    /// Denials in a file that cannot be read must not silently stop applying. The reason names the line.
    #[error("settings {file}: {reason}; repair the file or remove it")]
    Settings { file: PathBuf, reason: String },
    /// The same of `--settings` and `--managed-settings`.
    #[error("{flag}: {reason}")]
    SettingsFlag { flag: &'static str, reason: String },
    /// Policy that cannot be read must not silently stop applying.
    #[error("managed settings {file}: {reason}; ask the administrator to repair the file")]
    Managed { file: PathBuf, reason: String },
    #[error("{file} was left untouched: {reason}; repair or move it, then try again")]
    Refused { file: PathBuf, reason: String },
    #[error("cannot write {file}: {source}")]
    Write { file: PathBuf, source: std::io::Error },
    #[error("{file} is still locked by another process after {seconds} s; try again when it has finished")]
    Locked { file: PathBuf, seconds: u64 },
}
