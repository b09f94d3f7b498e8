//! The words on the pipe: what a client may send, what the agent answers, and how a run ends.
//!
//! Plain data and (de)serialisation. Deliberately absent: I/O, async, clocks, random ids, and any
//! decision. Both programs speak this crate and nothing else of each other.

pub mod clean;
mod event;
mod exit;
mod input;
mod line;
mod mode;
mod usage;
mod visible;

pub use event::{
    Assistant, CompactBoundary, CompactMetadata, Event, HookResponse, Init, Outcome, ResultUsage, Retry, System,
    TaskNotification, TaskProgress, TaskStarted, ToolDenied, User,
};
pub use exit::{ExitCode, table as exit_table};
pub use input::{Input, InputError, UserInput, UserMessage};
pub use line::{LINE_MAX, encode, encode_mirror, encode_partial};
pub use mode::PermissionMode;
pub use usage::{CacheCreation, ModelUsage, ServerToolUse, Usage};
pub use visible::{is_hidden, visible};
