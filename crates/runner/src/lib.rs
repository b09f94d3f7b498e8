//! The loop's body: starts agents, listens to them, checks their claims, and writes down what happened.
//!
//! What to do is decided in `cycle`; here it is done. The environment, the clock's zone, credentials and
//! where to print come in as values. Deliberately absent: any knowledge of the built-in agent beyond its
//! command line, and screens (they are sinks).

mod agent;
mod answers;
mod backend;
mod body;
mod checks;
mod command;
mod diff;
mod direnv;
mod files;
mod folder;
mod git;
mod git_files;
mod held;
mod init;
mod issues;
mod job;
mod lock;
mod mistakes;
mod plain;
mod prompt;
pub mod reach;
mod record;
mod rehearsal;
mod replay;
mod resets;
mod retention;
mod review_wish;
mod runs;
mod settings;
mod span;
mod spans;
mod summary;
mod thinking;
mod transport;
mod watch;

pub use answers::{answer_live, live_run};
pub use backend::{ACP_BRIDGE, Backend, BackendError, acp_command, choose};
pub use body::{Command, RunError, run};
pub use diff::run_diff;
pub use files::{detached_log, open_source};
pub use folder::Folder;
pub use held::{Held, State};
pub use init::{Made, init, unedited};
pub use job::{Auth, Fallback, Job, Reviewer, Sink};
pub use lock::{Lock, LockError};
pub use plain::{JsonSink, PlainSink};
pub use rehearsal::Rehearsal;
pub use replay::{ReplayError, replay};
pub use runs::{RunInfo, RunsError, answer, find, list, load};
pub use settings::{OutputFormat, Reasoning, SandboxWish, Settings, SettingsError};
pub use span::span;
pub use spans::{RunTrace, Spans};
pub use transport::Known;
pub use watch::Watch;
