//! The messages on the pipe, in both directions: a client's lines, the agent's events, exit codes.
//!
//! Plain data and (de)serialisation. Whatever one side writes, the other side parses back to the same value; events,
//! requests and fields of other versions are kept. An agent reads [`Input`] and writes [`Event`]s with [`encode`];
//! a client writes [`Input`] and reads [`Line`]s.
//!
//! Deliberately absent: I/O, async, clocks, random ids, and any decision. Both programs speak this crate and nothing
//! else of each other.

#[cfg(test)]
mod arbitrary;
mod exit;
mod message;
mod control;
mod mode;
mod requests;
mod system;
mod usage;
mod content;
mod visible;
pub mod clean;
mod event;
mod input;
mod line;
mod partial;
mod read;

pub use content::{Block, Message, ToolResult, ToolUse};
pub use control::{
    AgentRequest, CanUseTool, ControlError, ControlResponse, ControlSuccess, DirectoriesUpdate, Elicitation,
    ElicitationAnswer, HookCallback, McpAnswer, McpMessage, ModeUpdate, PermissionAllow, PermissionAnswer,
    PermissionDeny, PermissionRule, PermissionUpdate, RulesUpdate, UNSUPPORTED, UserDialog,
};
pub use event::{
    AgentControlRequest, Assistant, ControlCancel, ControlResponseLine, ConversationReset, Event, NullableStatus,
    Outcome, PromptSuggestion, RateLimitEvent, RateLimitInfo, ResultUsage, ToolProgress, TranscriptMirror, User,
};
pub use exit::{ExitCode, table as exit_table};
pub use input::{Input, InputError, UserInput, UserMessage};
pub use line::{LINE_MAX, PARTIAL_FRAME, encode, encode_mirror, encode_partial, expected_length};
pub use message::{Extra, Field, FromMap, Word};
pub use mode::PermissionMode;
pub use partial::{Partial, PartialLine, Piece, Raw};
pub use read::{Line, LineError};
pub use requests::{
    ApplyFlagSettings, BackgroundTasks, CancelAsyncMessage, ClientRequest, ContextUsage, FileContents, GetContextUsage,
    Initialize, Initialized, Interrupt, InterruptReceipt, McpServer, McpServerStatus, McpServersSet, McpSetServers,
    McpStatus, McpToggle, ReadFile, RegisterRepoRoot, ReloadPlugins, RenameSession, RewindFiles, Rewound,
    SeedReadState, SessionCost, SetMaxThinkingTokens, SetModel, SetPermissionMode, SettingsReport, TaskId, TaskOutput,
};
pub use system::{
    BackgroundTasksChanged, CompactBoundary, CompactMetadata, HookResponse, HookStarted, Informational, Init,
    LocalCommandOutput, ModelFallback, Notification, PluginInstall, Retry, SessionStateChanged, Status, System,
    TaskNotification, TaskProgress, TaskStarted, TaskUpdated, ToolDenied,
};
pub use usage::{CacheCreation, ModelUsage, ServerToolUse, Usage};
pub use visible::{is_hidden, visible};

#[cfg(test)]
mod round_trip_tests;
