//! Why a request of a client is not done.

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Clients tell it from a refusal by its form.
    #[error("Unsupported control request subtype: {0}")]
    Unsupported(String),
    /// In words for the client.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for RequestError {
    fn from(words: String) -> Self {
        Self::Refused(words)
    }
}

impl From<mcp::ServerError> for RequestError {
    fn from(error: mcp::ServerError) -> Self {
        Self::Refused(error.to_string())
    }
}
