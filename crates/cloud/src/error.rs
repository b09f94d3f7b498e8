//! Why no credential could be had. Every message names the variable, file, command or host.

use crate::world::WorldError;

/// Enough of a server's words to know what it means.
const SAID_MAX: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error("no AWS credentials found; looked at {0}. Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    NoAws(String),
    #[error(
        "no Google credentials found; looked at {0}. Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
    )]
    NoGoogle(String),
    #[error("no Azure credentials found; looked at {0}. Set ANTHROPIC_FOUNDRY_API_KEY, or run `az login`")]
    NoAzure(String),
    #[error("{file} cannot be used: {why}")]
    File { file: String, why: String },
    #[error("the AWS profile {profile:?} {why}")]
    Profile { profile: String, why: String },
    #[error("{command} gave no credential: {why}")]
    Command { command: String, why: String },
    #[error("{host} gave no credential: {why}")]
    Endpoint { host: String, why: String, may_pass: bool },
    #[error("the AWS credentials were not found within {seconds} s (CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS)")]
    Slow { seconds: u64 },
    #[error("{setting} did not help: {why}")]
    Refresh { setting: &'static str, why: String },
    #[error("{variable} {why}")]
    Variable { variable: &'static str, why: String },
    #[error("the credential from {source_name} expired at {at}; {mend}")]
    Expired { source_name: String, at: String, mend: String },
}

impl CredentialError {
    /// Whether asking the same sources again may help: a server or a command that failed, or a metadata server that
    /// was too slow to be found. What a file or a variable says stays as it is.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Endpoint { may_pass, .. } => *may_pass,
            Self::Command { .. } | Self::NoAws(_) | Self::NoGoogle(_) => true,
            Self::NoAzure(_)
            | Self::File { .. }
            | Self::Profile { .. }
            | Self::Variable { .. }
            | Self::Expired { .. }
            | Self::Slow { .. }
            | Self::Refresh { .. } => false,
        }
    }
}

/// Whether an answer of this status may be another one next time.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// The host of an address, for messages: what stands before an at sign may be a password.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority)
}

/// Nobody answered.
pub(crate) fn unreached(url: &str, why: &WorldError) -> CredentialError {
    CredentialError::Endpoint { host: host_of(url).to_owned(), why: why.to_string(), may_pass: true }
}

/// The server refused, with these words.
pub(crate) fn refused(url: &str, status: u16, said: &str) -> CredentialError {
    let words: Vec<&str> = said.split_whitespace().collect();
    let said: String = words.join(" ").chars().take(SAID_MAX).collect();
    let why = format!("status {status} {said}").trim_end().to_owned();
    CredentialError::Endpoint { host: host_of(url).to_owned(), why, may_pass: is_passing(status) }
}

/// The server's answer is not what was asked for.
pub(crate) fn useless(url: &str, why: &str) -> CredentialError {
    CredentialError::Endpoint { host: host_of(url).to_owned(), why: why.to_owned(), may_pass: false }
}
