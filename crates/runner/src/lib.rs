//! The loop's body: starts agents, listens to them, checks their claims, and writes down what happened.
//!
//! What to do is decided in `cycle`; here it is done. The environment, the clock's zone, credentials and
//! where to print come in as values. Deliberately absent: any knowledge of the built-in agent beyond its
//! command line, and screens (they are sinks).

mod command;
mod direnv;
mod folder;
mod files;
mod git_files;
mod git;
mod held;
mod issues;
mod lock;
mod mistakes;
mod rehearsal;
mod replay;
mod resets;
mod review_wish;
mod settings;
mod job;
mod init;
mod prompt;
mod start_error;
mod summary;
mod thinking;
mod transport;
mod watch;
mod plain;
mod record;
mod runs;
mod diff;
mod answers;
mod retention;
mod spans;
mod backend;
mod agent;
mod checks;
mod body;
pub mod reach;
mod waiting;
mod runs_told;
mod detach;

pub use answers::{answer_live, live_run};
pub use backend::{ACP_BRIDGE, Backend, BackendError, acp_command, choose};
pub use body::{Command, RunError, run};
pub use detach::{DetachError, Started, detach};
pub use diff::run_diff;
pub use files::open_source;
pub use folder::Folder;
pub use held::{Held, State};
pub use init::{Made, init, unedited};
pub use job::{Auth, Fallback, Job, Reviewer, Sink};
pub use lock::{Lock, LockError};
pub use plain::{JsonSink, PlainSink};
pub use rehearsal::Rehearsal;
pub use replay::{ReplayError, replay};
pub use runs::{RunInfo, RunsError, answer, find, list, load};
pub use runs_told::{receipt_lines, run_json, run_line};
pub use settings::{OutputFormat, Reasoning, SandboxWish, Settings, SettingsError};
pub use spans::{RunTrace, Spans};
pub use start_error::StartError;
pub use transport::Known;
pub use waiting::wait_for_work;
