//! What can go wrong with a handler: in its configuration, when it is asked, and in what it answers.
//!
//! Deliberately absent: what a failure does to the event. `answer` has that table.

use serde_json::Value;
use std::error::Error;
use std::time::Duration;

/// An error of whoever lends its models, servers and connections to hooks. This crate only passes its words on.
pub type HostError = Box<dyn Error + Send + Sync>;

/// Why a handler could not be asked, or gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("it does not run before the folder is trusted ('ralph trust')")]
    Untrusted,
    #[error("no model can be asked here")]
    NoModel,
    #[error("no server can be asked here")]
    NoServer,
    #[error("no client is connected")]
    NoClient,
    #[error("there is no conversation for an agent to look at")]
    NoConversation,
    #[error("the session is over")]
    SessionOver,
    #[error("the client's hook did not answer within {} s", .0.as_secs())]
    ClientSilent(Duration),
    #[error(transparent)]
    Start(#[from] process::SpawnError),
    /// The value may be a secret, so only the name is told.
    #[error("the header {0:?} cannot be sent")]
    Header(String),
    #[error("{}", innermost(.0))]
    Web(#[from] reqwest::Error),
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    #[error(transparent)]
    Host(HostError),
}

impl AskError {
    pub fn host(error: impl Into<HostError>) -> Self {
        Self::Host(error.into())
    }
}

/// The outer causes only say that a request failed, and may show the address.
fn innermost(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// What is wrong with a handler as it is written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("it has no type; write \"type\": \"command\"")]
    NoType,
    #[error("the type {0:?} is unknown")]
    UnknownType(String),
    #[error("http hooks do not run at this event")]
    NoHttp,
    #[error("hooks of type {0} do not run at this event, where nothing is decided")]
    NoOpinion(String),
    #[error("its {0} is missing or empty")]
    Empty(&'static str),
    #[error("its {0} is missing")]
    Missing(&'static str),
    #[error("its {key} is not {kind}")]
    Type { key: &'static str, kind: &'static str },
    #[error("its headers are not an object")]
    Headers,
    #[error("a value of its headers is not a string")]
    HeaderValue,
    #[error("its url {0:?} is not an http address")]
    Address(String),
    #[error("the shell {0:?} is unknown; write bash or powershell")]
    Shell(String),
    #[error("the timeout {0} is not a number of seconds; the default is used")]
    Timeout(Value),
}

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnswerError {
    #[error("not valid JSON, {0}")]
    Json(serde_json::Error),
    #[error("the answer is not a JSON object")]
    NoObject,
    #[error("the body is not a JSON object")]
    Body,
    #[error("{at}{key} is not {kind}")]
    Type { at: &'static str, key: &'static str, kind: &'static str },
    #[error("{field} is {word:?}, not {known}")]
    Word { field: &'static str, word: String, known: &'static str },
    #[error("hookSpecificOutput is for {named}, but the event is {event}")]
    OtherEvent { named: String, event: &'static str },
    #[error("the model did not answer with JSON")]
    NoOpinion,
    #[error("the model's answer is no JSON, {0}")]
    Opinion(serde_json::Error),
    #[error("the model's answer has no \"ok\" that is true or false")]
    Undecided,
}
