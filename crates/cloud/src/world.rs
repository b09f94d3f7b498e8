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

/// A command line tool that only prints a token needs seconds.
pub const PRINT_WAIT: Duration = Duration::from_mins(1);

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
    /// The same with variables of its own.
    ShellWith {
        text: String,
        env: Vec<(String, String)>,
    },
    Program {
        name: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
    },
}

impl Command {
    /// The program's name, for messages: arguments may hold secrets.
    pub fn name(&self) -> &str {
        match self {
            Self::Shell(text) | Self::ShellWith { text, .. } => text.split_whitespace().next().unwrap_or("the command"),
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

    /// Ends after this time.
    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()>;

    /// One line for the user: a source failed, and another one is used instead.
    fn warn(&self, line: &str);
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

/// Why an address that is not private is refused.
pub(crate) const NOT_PRIVATE: &str = "is neither https nor an address of this machine";

/// Whether what is sent to this address can be read by nobody on the way: it is encrypted, or does not leave this
/// machine and its network card.
pub(crate) fn is_private(url: &str) -> bool {
    if url.starts_with("https://") {
        return true;
    }
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // A name before an at sign would make the host look like another one.
    let host = if authority.starts_with('[') {
        authority.split_inclusive(']').next().unwrap_or_default()
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    !authority.contains('@') && (host == "localhost" || host.parse().is_ok_and(is_local) || LOCAL_V6.contains(&host))
}

/// Loopback, and the containers' agent.
const LOCAL_V6: [&str; 2] = ["[::1]", "[fd00:ec2::23]"];

/// Loopback, and the addresses at which clouds give out credentials to their machines.
fn is_local(address: std::net::Ipv4Addr) -> bool {
    address.is_loopback() || address.is_link_local()
}
