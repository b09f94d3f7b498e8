//! The trait for everything that finding a credential needs: variables, files, small requests, commands.
//!
//! The chains are written against this trait, so that tests play every cloud without a network. The one real
//! implementation lives where processes and HTTP are.

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A token endpoint's answer is a few kilobytes; a longer one is not an answer.
pub const RESPONSE_MAX: usize = 256 * 1024;
/// A token endpoint that has not answered by then is down.
pub const REQUEST_WAIT: Duration = Duration::from_secs(30);
/// Metadata servers are on the same machine. Where there is none, nobody should wait for it.
pub const METADATA_WAIT: Duration = Duration::from_secs(1);
/// A command may ask a person to log in, in a browser.
pub const COMMAND_WAIT: Duration = Duration::from_mins(3);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: &'static str,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub wait: Duration,
    /// Metadata servers are asked directly, whatever proxy is configured.
    pub without_proxy: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpResponse {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A program to run. `Shell` texts come from settings that the user or an administrator wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Shell(String),
    Program { name: String, args: Vec<String>, env: Vec<(String, String)> },
}

impl Command {
    /// The program's name, for messages: arguments may hold secrets.
    pub fn name(&self) -> &str {
        match self {
            Self::Shell(text) => text.split_whitespace().next().unwrap_or("the command"),
            Self::Program { name, .. } => name,
        }
    }
}

/// Why something outside did not work, in a few words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorldError(pub String);

pub trait CloudEnvironment: Send + Sync {
    fn variable(&self, name: &str) -> Option<String>;

    fn home(&self) -> PathBuf;

    fn now(&self) -> Timestamp;

    /// The text of a small file; `None` where there is no such file.
    fn read(&self, path: &Path) -> Result<Option<String>, WorldError>;

    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>>;

    /// The standard output of a command that ended well.
    fn run(&self, command: Command, wait: Duration) -> BoxFuture<'_, Result<String, WorldError>>;
}

impl dyn CloudEnvironment + '_ {
    /// A variable that is set to something.
    pub(crate) fn set(&self, name: &str) -> Option<String> {
        self.variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.set(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }
}
