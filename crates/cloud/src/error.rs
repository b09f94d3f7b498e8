//! Why no credential could be had. Every message names the variable, file, command or host.

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
    Endpoint { host: String, why: String },
    #[error("{variable} {why}")]
    Variable { variable: &'static str, why: String },
    #[error("the credential from {source_name} expired at {at}; {mend}")]
    Expired { source_name: String, at: String, mend: String },
}
