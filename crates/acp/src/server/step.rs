//! The inputs and outputs of `Server::step`, and the values in them.

use super::launch::Launch;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Which agent process.
pub type ChildKey = u64;

/// What the client said that it can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub form_elicitation: bool,
    pub url_elicitation: bool,
    pub notices: bool,
    pub compaction: bool,
    /// It can run a login in a terminal.
    pub terminal_login: bool,
}

/// What is the same for all sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    pub version: String,
    /// `bypassPermissions` may be offered.
    pub may_bypass: bool,
}

/// A session on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastSession {
    pub id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// In ISO 8601.
    pub updated_at: Option<String>,
}

/// Why an agent process did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("cwd {0} is not a folder that exists; give the absolute path of one")]
    NoFolder(PathBuf),
    #[error("the agent could not be started: {0}")]
    NoProcess(String),
}

/// The reason why a session was not deleted, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DeleteError(pub String);

#[derive(Debug)]
pub enum ServerInput {
    /// A line of the client, without its newline.
    Client(Vec<u8>),
    /// A line of the client that was longer than [`crate::LINE_MAX`].
    ClientTooLong,
    /// A line of an agent process.
    Child {
        child: ChildKey,
        line: String,
    },
    /// With the end of what it said on standard error.
    ChildEnded {
        child: ChildKey,
        words: String,
    },
    NotStarted {
        child: ChildKey,
        error: StartError,
    },
    /// The answer to [`ServerOutput::Find`]: the messages of the conversation.
    Found {
        child: ChildKey,
        messages: Option<Vec<Value>>,
    },
    Listed {
        id: Value,
        sessions: Vec<PastSession>,
        next: Option<String>,
    },
    Deleted {
        id: Value,
        result: Result<(), DeleteError>,
    },
    LoginChecked {
        id: Value,
        is_logged_in: bool,
    },
    /// The answer to [`ServerOutput::After`].
    Elapsed {
        child: ChildKey,
        timer: Timer,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ServerOutput {
    ToClient(Value),
    Start {
        child: ChildKey,
        launch: Launch,
    },
    /// A line, newline included.
    ToChild {
        child: ChildKey,
        line: Vec<u8>,
    },
    /// Ends the process and all that it started.
    Stop {
        child: ChildKey,
    },
    /// Looks for a conversation on disk.
    Find {
        child: ChildKey,
        session: String,
        cwd: PathBuf,
    },
    List {
        id: Value,
        cwd: Option<PathBuf>,
        cursor: Option<String>,
    },
    Delete {
        id: Value,
        session: String,
    },
    CheckLogin {
        id: Value,
    },
    After {
        child: ChildKey,
        timer: Timer,
        wait: Duration,
    },
}

/// What a deadline is for. The numbers are those of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    Startup,
    /// A cancelled turn is answered now, whatever the agent process does.
    CancelAnswer(u64),
    /// The agent process did not end a cancelled turn.
    CancelKill(u64),
    /// The end of the last agent in the background has begun no turn.
    LateTurn(u64),
}
