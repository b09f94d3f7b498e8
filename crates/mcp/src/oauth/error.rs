//! Why a login does not come about.

use crate::web::WebError;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("it is not a remote server; only servers of type http and sse have a login")]
    NotRemote,
    #[error("it wants no login")]
    NotWanted,
    #[error("{what}: {reason}")]
    Web { what: &'static str, reason: String },
    #[error("{what} cannot be used: {reason}")]
    Unclear { what: &'static str, reason: String },
    #[error("{0} is refused; a login uses https, or http on this machine, and nothing else")]
    Insecure(String),
    #[error("the authorization server does not say that it supports PKCE with S256, which every login needs")]
    NoPkce,
    #[error(
        "the authorization server registers no clients; give \"oauth\": {{\"clientId\": \"…\"}} in the server's entry"
    )]
    NoRegistration,
    #[error("no address on this machine can take the answer of the browser: {0}")]
    NoCallback(String),
    #[error("nobody logged in within {} min; begin again", .0.as_secs() / 60)]
    TimedOut(Duration),
    #[error("the login was refused: {0}")]
    Denied(String),
    #[error("this address does not belong to the login that was begun")]
    WrongState,
    #[error("no login waits for this address; begin one first")]
    NotBegun,
    #[error("the stored login is over; log in again")]
    Over,
    #[error("logins cannot be kept here: {0}")]
    Store(String),
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

impl LoginError {
    pub(crate) fn web(what: &'static str) -> impl Fn(WebError) -> Self {
        move |error| Self::Web { what, reason: error.to_string() }
    }

    pub(crate) fn unclear(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Unclear { what, reason: reason.into() }
    }
}
