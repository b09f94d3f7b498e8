//! The loop's body: starts agents, listens to them, checks their claims, and writes down what happened.
//!
//! What to do is decided in `cycle`; here it is done. The environment, the clock's zone, credentials and
//! where to print come in as values. Deliberately absent: any knowledge of the built-in agent beyond its
//! command line, and screens (they are sinks).

mod command;
mod direnv;
mod files;
mod folder;
mod git_files;
mod git;
mod held;
mod issues;
mod lock;
mod mistakes;
mod rehearsal;
mod replay;
mod resets;
mod span;
mod settings;
mod init;
mod prompt;
mod summary;
mod thinking;
mod transport;
mod watch;
mod backend;
mod agent;
mod job;
mod checks;
mod plain;
mod record;
mod runs;
mod answers;
mod retention;
mod body;

pub use answers::{answer_live, live_run};
pub use backend::{Backend, BackendError, choose};
pub use body::{Command, RunError, run};
pub use folder::Folder;
pub use held::{Held, State};
pub use init::{Made, init, unedited};
pub use job::{Auth, Job, Sink};
pub use lock::{Lock, LockError};
pub use plain::{JsonSink, PlainSink};
pub use rehearsal::Rehearsal;
pub use replay::{ReplayError, replay};
pub use runs::{RunInfo, RunsError, answer, find, list, load};
pub use settings::{OutputFormat, Reasoning, SandboxWish, Settings, SettingsError};
pub use span::span;
pub use transport::Known;
pub use watch::Watch;
