//! Conversations on disk: where they live, how they are written, and how they are read back.
//!
//! A conversation is an append-only file of JSON lines whose layout other programs read directly (by
//! bytes, not only as JSON), so the layout is part of the contract. Writing never fails a run; reading
//! never trusts a file: torn, foreign and unknown lines are passed over. Deliberately absent: a cache or
//! an index of sessions, rewriting a file in place, and any knowledge of what the messages mean.

mod append;
mod attachment;
mod entry;
mod history;
mod peek;
mod lines;
mod index;
mod fork;
mod chain;
mod load;
mod sidecar;
mod store;
mod listing;
mod retention;
mod transcript;
mod unwritten;

#[cfg(test)]
mod reader_tests;

pub use entry::Stamp;
pub use fork::copy_for_fork;
pub use listing::{Listed, Page};
pub use load::{Loaded, TOOL_DEFERRED, load, load_until};
pub use retention::{RETENTION_BUDGET, remove_old};
pub use sidecar::write_agent_meta;
pub use store::{Store, is_session_id, slug};
pub use transcript::{Clock, Mirror, Transcript, UserExtra};
pub use unwritten::recover;

use std::path::PathBuf;

/// Why a conversation could not be read or copied.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot read the conversation in {}: {source}; check that the file exists and is yours", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write the conversation to {}: {source}; check the folder's permissions and free space", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{} holds no conversation; start a new one without --resume", path.display())]
    Empty { path: PathBuf },
    #[error("{} has no message {uuid}; give the uuid of an entry of that conversation", path.display())]
    NoSuchEntry { path: PathBuf, uuid: String },
}
