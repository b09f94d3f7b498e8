//! What can go wrong with a server: while it is connected, and when it is asked for something.

use crate::helper::HelperError;
use crate::oauth::LoginError;
use crate::prompt::MissingArguments;
use crate::sdk::HostError;
use crate::web::{self, BadHeader, WebError};
use process::{Exit, SpawnError};
use serde_json::Value;
use std::time::Duration;

/// Why a server cannot do what it was asked for. The words are for the model and for people.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServerError {
    #[error("there is no MCP tool {0}; its server may have been removed")]
    NoTool(String),
    #[error("no MCP server is configured")]
    NoneConfigured,
    #[error("no connected MCP server {server:?} has a tool {tool:?}")]
    NoToolOf { server: String, tool: String },
    #[error("there is no MCP server {0:?}")]
    NoServer(String),
    #[error("the MCP server {0:?} is disabled; enable it first")]
    Disabled(String),
    #[error("the MCP server {server:?} failed: {reason}")]
    Failed { server: String, reason: String },
    #[error("the MCP server {server:?}: {reason}")]
    Login { server: String, reason: LoginError },
    /// The server's own words.
    #[error("{0}")]
    Refused(String),
    #[error("a tool's arguments are an object, not {0}")]
    Arguments(Value),
    #[error(transparent)]
    PromptArguments(#[from] MissingArguments),
}

impl ServerError {
    pub(crate) fn failed(server: &str, reason: impl Into<String>) -> Self {
        Self::Failed { server: server.to_owned(), reason: reason.into() }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Web(#[from] WebError),
    #[error("it was not ready within {} s", .0.as_secs_f32())]
    Silent(Duration),
    #[error("it closed the connection before it was ready{}", note(.0))]
    Closed(String),
    #[error("it answered wrongly: {0}")]
    Answered(String),
    #[error("it cannot be set up: {0}")]
    Setup(#[from] SetupError),
    #[error("{cause}{}{}", .exit.map(ended).unwrap_or_default(), said(.words))]
    Process { cause: Box<ConnectError>, exit: Option<Exit>, words: String },
}

/// Why a connection was not even tried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error("it has no pipes")]
    NoPipes,
    #[error("it lives in the client, and this client offers no way to it")]
    NoClient,
    #[error("it is no remote server")]
    NotRemote,
    #[error("{url:?} is no address: {why}")]
    Address { url: String, why: url::ParseError },
    #[error(transparent)]
    Host(HostError),
    #[error("the HTTP client cannot be set up: {}", web::root(.0))]
    Client(reqwest::Error),
    #[error("its headersHelper {0}")]
    Helper(#[from] HelperError),
    #[error(transparent)]
    Header(#[from] BadHeader),
}

impl ConnectError {
    pub(crate) fn needs_auth(&self) -> bool {
        matches!(self, Self::Web(WebError::Unauthorized))
    }

    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Web(error) => error.may_pass(),
            Self::Closed(_) => true,
            _ => false,
        }
    }
}

fn note(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

pub(crate) fn ended(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!(" (exit code {code})"),
        (None, Some(signal)) => format!(" (signal {signal})"),
        (None, None) => String::new(),
    }
}

pub(crate) fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(". Its last words:\n{words}") }
}
