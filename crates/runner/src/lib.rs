//! The effects of the loop: starts agents, reads their output, runs checks, and records the events.
//!
//! `cycle` decides; this crate executes. The environment, the time zone, credentials and the places to print to
//! are parameters. Deliberately absent: any knowledge of the built-in agent beyond its
//! command line, and screens (they are sinks).

mod helper;
mod direnv;
mod folder;
mod files;
mod git_files;
mod git;
mod confined;
mod issues;
mod lock;
mod mistakes;
mod rehearsal;
mod replay;
mod resets;
mod review_setting;
mod settings;
mod run_command;
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
pub mod run_socket;
mod run_loop;
mod waiting;
mod run_text;
mod detach;

pub use answers::{answer_live, live_run};
pub use backend::{ACP_BRIDGE, Backend, BackendError, acp_command, choose};
pub use confined::{ConfinedAgent, CopiedState};
pub use detach::{DetachError, Started, detach};
pub use diff::run_diff;
pub use files::open_source;
pub use folder::Folder;
pub use init::{CreatedFile, init, unedited};
pub use job::{Auth, Fallback, Job, Reviewer, Sink};
pub use lock::{Lock, LockError};
pub use plain::{JsonSink, PlainSink};
pub use rehearsal::Rehearsal;
pub use replay::{ReplayError, replay};
pub use run_command::Command;
pub use run_loop::{RunError, run};
pub use run_text::{receipt_lines, run_json, run_line};
pub use runs::{RunInfo, RunsError, answer, find, list, load};
pub use settings::{OutputFormat, Reasoning, SandboxMode, Settings, SettingsError};
pub use spans::{RunTrace, Spans};
pub use start_error::StartError;
pub use transport::TransportHint;
pub use waiting::wait_for_work;
pub use watch::{Watch, beads_socket};
