//! The plain values of a machine's state: calls, batches, and what the turn itself waits for.
//!
//! Deliberately absent: what happens to them. That is in the modules above, one for each concern.

use crate::hook::HookDecision;
use crate::input::{CallResult, Ticket};
use crate::model_answer::ModelFailure;
use crate::result::End;
use crate::settings::{DeferredCall, ToolFacts};
use policy::Decision;
use serde_json::Value;
use wire::UserInput;

/// A call as the model made it.
#[derive(Debug, Clone)]
pub(crate) struct ToolUse {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// What came instead of JSON.
    pub(crate) bad_input: Option<String>,
    /// The transcript entry that holds the call.
    pub(crate) entry: String,
}

impl From<DeferredCall> for ToolUse {
    fn from(call: DeferredCall) -> Self {
        Self { id: call.id, name: call.name, input: call.input, bad_input: None, entry: call.entry }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// Keys of the calls, in their order; each group runs at once.
    pub(crate) groups: Vec<Vec<u64>>,
    /// The group that is on its way.
    pub(crate) at: usize,
    /// Calls of this group that have ended, as they did.
    pub(crate) ended: Vec<u64>,
    pub(crate) results: Vec<Value>,
    /// For PostToolBatch hooks.
    pub(crate) reported: Vec<Value>,
    pub(crate) last_name: String,
    pub(crate) follow_ups: Vec<String>,
    pub(crate) contexts: Vec<HookContext>,
    pub(crate) stop: Option<String>,
    pub(crate) ends_turn: bool,
    /// The work that waits behind a call that was put off.
    pub(crate) work: Option<Work>,
}

/// Who waits for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The model.
    Answer,
    /// A tool that runs, or a command that is expanded: the runtime's number, and the ticket of the work.
    Inner { inner: u64, owner: Ticket },
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The tool has run.
    Done,
    /// There is no such tool, or the input is not for it.
    Rejected,
    Denied,
    /// A hook stops the whole run.
    Stopped,
    /// An interrupt cut it off.
    Cancelled,
}

#[derive(Debug, Clone)]
pub(crate) enum CallState {
    /// Its group has not begun.
    Waiting,
    Checking(Ticket),
    PreHooks(Ticket),
    Rechecking(Ticket, Replacement),
    Judging(Ticket),
    PermissionHook(Ticket, Box<Decision>, Vec<Value>),
    AskingClient(Ticket, Box<Decision>),
    Applying(Ticket, Option<Value>),
    DeniedHook(Ticket, String),
    Running(Ticket),
    PostHooks(Ticket),
    Hiding(Ticket),
    Cancelling(Ticket),
    Ended,
}

/// A new input, and who set it.
#[derive(Debug, Clone)]
pub(crate) enum Replacement {
    ByHook(Value),
    ByClient(Value),
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) key: u64,
    pub(crate) owner: Owner,
    pub(crate) id: String,
    /// The tool that is meant.
    pub(crate) name: String,
    /// As the model made it.
    pub(crate) made: ToolUse,
    /// As the check, hooks and the client have left it.
    pub(crate) input: Value,
    /// The text that the shell must be given, where that is what the rules allowed.
    pub(crate) run: Option<String>,
    pub(crate) facts: Option<ToolFacts>,
    pub(crate) state: CallState,
    /// What PreToolUse hooks want.
    pub(crate) wish: Option<HookDecision>,
    pub(crate) end: Option<CallEnd>,
    pub(crate) result: Option<CallResult>,
    /// What hooks want the model to know.
    pub(crate) contexts: Vec<HookContext>,
    pub(crate) stop: Option<String>,
    pub(crate) follow_up: Option<String>,
    pub(crate) structured: Option<Value>,
    pub(crate) ends_turn: bool,
    /// When it was permitted.
    pub(crate) since_ms: u64,
}

impl CallState {
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Waiting | Self::Ended => None,
            Self::Checking(ticket)
            | Self::PreHooks(ticket)
            | Self::Rechecking(ticket, _)
            | Self::Judging(ticket)
            | Self::PermissionHook(ticket, ..)
            | Self::AskingClient(ticket, _)
            | Self::Applying(ticket, _)
            | Self::DeniedHook(ticket, _)
            | Self::Running(ticket)
            | Self::PostHooks(ticket)
            | Self::Hiding(ticket)
            | Self::Cancelling(ticket) => Some(*ticket),
        }
    }
}

impl Call {
    pub(crate) fn new(key: u64, owner: Owner, made: ToolUse, name: String, facts: Option<ToolFacts>) -> Self {
        Self {
            key,
            owner,
            id: made.id.clone(),
            name,
            input: made.input.clone(),
            made,
            run: None,
            facts,
            state: CallState::Waiting,
            wish: None,
            end: None,
            result: None,
            contexts: Vec::new(),
            stop: None,
            follow_up: None,
            structured: None,
            ends_turn: false,
            since_ms: 0,
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, CallState::Ended)
    }
}

/// Something for a turn to start with.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    Prompt(Box<UserInput>),
    Notice(String),
    GoOn,
}

impl Work {
    /// The id that the client gave to a prompt.
    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Prompt(prompt) => prompt.uuid.as_deref(),
            Self::Notice(_) | Self::GoOn => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    pub(crate) step: Step,
    /// An interrupt wants it stopped: its answer does not count any more.
    pub(crate) is_cancelled: bool,
}

/// A turn on its way to its first question.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) work: Work,
    pub(crate) problem: Option<String>,
    pub(crate) initial_prompt: Option<String>,
}

/// Who waits until hooks know of the start of a session.
#[derive(Debug, Clone)]
pub(crate) enum AfterStart {
    Turn(Box<Start>),
    Clear,
}

/// Who waits until hooks know of instruction files.
#[derive(Debug, Clone)]
pub(crate) enum AfterInstructions {
    Start(AfterStart),
    Task,
    Compaction(Box<Compaction>),
}

/// A prompt on its way into the conversation.
#[derive(Debug, Clone)]
pub(crate) struct ComingPrompt {
    pub(crate) prompt: Box<UserInput>,
    /// The text that stands for a command.
    pub(crate) command: Option<Vec<Value>>,
    /// What hooks want the model to know.
    pub(crate) contexts: Vec<HookContext>,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Prepare(Work),
    SetupHook(Box<Start>),
    SessionStart(AfterStart),
    SubagentStart,
    Instructions(AfterInstructions),
    ReadCommand(ComingPrompt),
    ExpansionHook { coming: ComingPrompt, name: String, args: String },
    Expand(ComingPrompt),
    LocalCommand,
    ClearHook,
    ClearReset,
    PromptHook(ComingPrompt),
    AfterPrompt { contexts: Vec<HookContext> },
    BeforeAsking,
    PreCompact(Box<Compaction>),
    Summary(Box<Compaction>),
    PostCompact(Box<Compaction>),
    Ask,
    Renew(Box<ModelFailure>),
    SwitchHook,
    BatchHook { stop: Option<String>, ends_turn: bool, work: Option<Work> },
    AfterCalls,
    StopHook,
    FailureHook(End),
    CloseHook,
}

impl Step {
    /// Work that an interrupt stops. Hooks and the like are short and bounded, so their answers are waited for.
    pub(crate) fn is_stopped_by_interrupt(&self) -> bool {
        matches!(self, Self::Ask | Self::Summary(_) | Self::ReadCommand(_) | Self::Expand(_))
    }
}

/// Who goes on afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The question that was about to be asked.
    Answer,
    /// A new question, with its limits.
    Question,
    /// `/compact`.
    Command,
}

#[derive(Debug, Clone)]
pub(crate) struct Compaction {
    pub(crate) trigger: &'static str,
    /// What the user wants of the summary.
    pub(crate) wish: Option<String>,
    pub(crate) resume: Resume,
    pub(crate) started_ms: u64,
    pub(crate) attempt: usize,
    /// Why there is no summary yet.
    pub(crate) end: End,
}

/// A finished block of an answer that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct UnwrittenBlock {
    pub(crate) id: String,
    pub(crate) message: Value,
    pub(crate) request_id: Option<String>,
}

/// What hooks of an event want the model to know.
#[derive(Debug, Clone)]
pub(crate) struct HookContext {
    pub(crate) event: &'static str,
    pub(crate) text: String,
}

impl HookContext {
    pub(crate) fn all(event: &'static str, texts: Vec<String>) -> Vec<Self> {
        texts.into_iter().map(|text| Self { event, text }).collect()
    }
}

/// What has come of an answer so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    pub(crate) head: Value,
    pub(crate) request_id: Option<String>,
    pub(crate) calls: Vec<ToolUse>,
    /// Finished blocks that are not in the transcript yet.
    pub(crate) unwritten: Vec<UnwrittenBlock>,
    /// The credential was renewed for this answer already.
    pub(crate) is_renewed: bool,
}
