//! Why something that the machine asked for, or was asked for, was not done.

use crate::words;

/// Why a call inside other work has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InnerCallError {
    #[error("{}", words::INTERRUPTED_CALL)]
    Interrupted,
    /// A check, a hook, a rule or the client refused it; these are the words for the model.
    #[error("{0}")]
    Refused(String),
    /// The runtime has nobody left who would make the call.
    #[error("the conversation is over")]
    Over,
}

/// A command was not carried out. The machine passes the words on as the result of the turn and decides nothing by them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CommandFailure(pub String);
