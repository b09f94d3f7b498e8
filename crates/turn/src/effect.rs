//! What goes out: work for the runtime, events for clients, entries for the transcript.

use crate::background::AgentWait;
use crate::error::InnerCallError;
use crate::hook::Hook;
use crate::input::{CallResult, Ticket};
use policy::Decision;
use serde_json::Value;
use std::sync::Arc;
use wire::{Event, Outcome, Usage};

#[derive(Debug, Clone)]
pub enum Effect {
    // Work that comes back.
    /// A turn begins. Forget what skills of the last turn allowed, wait for servers and for hooks between turns, bring tools
    /// and system prompt up to date (as [`crate::Change`]s before the answer). → `Prepared`
    Prepare {
        ticket: Ticket,
        is_first: bool,
    },
    /// → `Gathered`
    Gather {
        ticket: Ticket,
        what: Gather,
    },
    /// Is this text a command? → `CommandRead`
    ReadCommand {
        ticket: Ticket,
        text: String,
    },
    /// → `CommandExpanded`; may send `InnerCall`s meanwhile.
    ExpandCommand {
        ticket: Ticket,
        name: String,
        args: String,
    },
    /// → `CommandDone`
    RunCommand {
        ticket: Ticket,
        name: &'static str,
        args: String,
    },
    /// `/clear`: a new session id and transcript, the books start anew, hooks of agents and skills are forgotten; tell the
    /// client. → `ConversationReset`
    ResetConversation {
        ticket: Ticket,
    },
    /// Fire a hook event. Where no hook listens the answer is [`crate::HookAnswer::default`], at once. → `HookAnswered`
    FireHook {
        ticket: Ticket,
        hook: Box<Hook>,
    },
    /// → `AnswerStarted`, `BlockFinished` …, then `AnswerFinished` or `ModelFailed`
    AskModel {
        ticket: Ticket,
        question: ModelQuestion,
    },
    /// The API refused the credential. → `CredentialsRenewed`
    RenewCredentials {
        ticket: Ticket,
    },
    /// A question beside the conversation, without tools. → `SummaryFinished` or `SummaryFailed`
    Summarise {
        ticket: Ticket,
        model: String,
        messages: Vec<Value>,
    },
    /// Is this an input that the tool understands? → `InputChecked`
    CheckInput {
        ticket: Ticket,
        tool_use_id: String,
        name: String,
        input: Value,
    },
    /// What do rules and mode say? `is_asked_anyway`: a hook wants somebody asked, so suggestions are needed. → `Judged`
    Judge {
        ticket: Ticket,
        tool_use_id: String,
        name: String,
        input: Value,
        is_asked_anyway: bool,
    },
    /// Ask the client or the tool that answers for it; hooks hear of it meanwhile. → `PermissionAnswered`
    AskPermission {
        ticket: Ticket,
        question: Box<PermissionQuestion>,
    },
    /// Permission updates that came with an answer. → `UpdatesApplied`
    ApplyUpdates {
        ticket: Ticket,
        updates: Vec<Value>,
    },
    /// Keep files that will be written, run the tool, and catch its panics. May send `InnerCall`s. → `ToolFinished`
    RunTool {
        ticket: Ticket,
        tool_use_id: String,
        name: String,
        input: Value,
        /// The text that the shell must be given in place of the input's command, since that is what was judged.
        run: Option<String>,
    },
    /// Another [`crate::Turn`]. One that goes to the background is answered before it has ended. → `AgentFinished`
    StartAgent {
        ticket: Ticket,
        tool_use_id: String,
        input: Value,
        wait: AgentWait,
    },
    /// Replace secrets in a result. Nothing that a tool or a hook said reaches anybody before. → `SecretsHidden`
    HideSecrets {
        ticket: Ticket,
        result: CallResult,
    },
    /// → `TimerFired`
    SetTimer {
        ticket: Ticket,
        after_ms: u64,
    },
    /// → `Stopped`, unless the work's own answer is on its way.
    Cancel {
        ticket: Ticket,
    },

    // Done at once, in order.
    /// A line for the client. With an id it has the id of the transcript's entry. The runtime fills in the time of `user` events.
    Emit {
        event: Box<Event>,
        id: Option<String>,
    },
    /// `system/init`: the runtime knows what it says.
    EmitInit,
    Append(Entry),
    /// Hooks are told that this prompt is being worked on.
    SetPromptId(String),
    /// From here on changed files are kept again, under the id of this prompt.
    BeginCheckpoint {
        id: String,
    },
    /// The conversation was shortened: tools forget which answers of theirs the model has seen.
    ForgetReads,
    /// A line on stderr.
    Warn(String),
    /// A sub-agent's news for the main conversation.
    Report(Report),
    /// The answer to an [`crate::Input::InnerCall`]. An error says why the call did not run.
    AnswerInner {
        inner: u64,
        result: Result<CallResult, InnerCallError>,
    },
    /// The answer to [`crate::Input::Recall`].
    Recalled {
        waiting: Vec<String>,
        taken_back: Vec<String>,
    },
    /// The turn of the main conversation is over. The runtime fills in the costs and sends the result.
    EndTurn {
        outcome: Box<Outcome>,
    },
    /// The turn of a sub-agent is over.
    EndTask {
        result: Box<SubagentResult>,
    },
    /// The session is over: nothing follows.
    Closed,
}

impl Effect {
    /// The ticket of work that comes back.
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::Prepare { ticket, .. }
            | Self::Gather { ticket, .. }
            | Self::ReadCommand { ticket, .. }
            | Self::ExpandCommand { ticket, .. }
            | Self::RunCommand { ticket, .. }
            | Self::ResetConversation { ticket }
            | Self::FireHook { ticket, .. }
            | Self::AskModel { ticket, .. }
            | Self::RenewCredentials { ticket }
            | Self::Summarise { ticket, .. }
            | Self::CheckInput { ticket, .. }
            | Self::Judge { ticket, .. }
            | Self::AskPermission { ticket, .. }
            | Self::ApplyUpdates { ticket, .. }
            | Self::RunTool { ticket, .. }
            | Self::StartAgent { ticket, .. }
            | Self::HideSecrets { ticket, .. }
            | Self::SetTimer { ticket, .. } => Some(*ticket),
            Self::Cancel { .. }
            | Self::Emit { .. }
            | Self::EmitInit
            | Self::Append(_)
            | Self::SetPromptId(_)
            | Self::BeginCheckpoint { .. }
            | Self::ForgetReads
            | Self::Warn(_)
            | Self::Report(_)
            | Self::AnswerInner { .. }
            | Self::Recalled { .. }
            | Self::EndTurn { .. }
            | Self::EndTask { .. }
            | Self::Closed => None,
        }
    }
}

/// What is gathered, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gather {
    /// Tell hooks of the instruction files that came into the conversation. The answer is empty.
    InstructionsLoaded,
    /// After a prompt: the files that `mentions` names, instructions for them, and what hooks have said since.
    AfterPrompt { mentions: Option<String> },
    /// Before a question: look whether settings files have changed, and what hooks have said since.
    BeforeAsking,
    /// Before a question of a sub-agent: what it was told since.
    Messages,
    /// After tool calls: instructions for the files that they touched.
    AfterCalls,
}

/// One question to the model. The runtime adds system prompt, tools, thinking and the like. It lets go of `messages` once the
/// request is written: the machine changes them when the answer has come, and would copy them otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelQuestion {
    pub model: String,
    pub messages: Arc<Vec<Value>>,
    /// Another model stands by: overloads are not waited out for long.
    pub has_fallback: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PermissionQuestion {
    pub tool_use_id: String,
    pub name: String,
    pub input: Value,
    pub decision: Decision,
    pub suggestions: Vec<Value>,
    pub agent_id: Option<String>,
}

/// News that concerns the whole session.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A call was refused: for the list in the result.
    Denied(Value),
    /// Nobody answers permission questions, although somebody should.
    NoPrompter(String),
}

/// A line of the transcript. The runtime adds time, session and parent.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    User {
        id: String,
        message: Value,
        is_meta: bool,
        is_compact_summary: bool,
        tool_use_result: Option<Value>,
        /// The entry that holds the call that is answered here.
        source_assistant: Option<String>,
        /// More of the entry's own fields: the prompt that it belongs to, and the like.
        fields: Option<Value>,
    },
    /// Something that belongs to a prompt or was said by a hook; `message` is what the model sees of it.
    Attachment { id: String, attachment: Value, message: Value },
    Assistant {
        id: String,
        message: Value,
        request_id: Option<String>,
        /// More of the entry's own fields, such as what kind of failure it tells.
        fields: Option<Value>,
    },
    /// `new_root` starts the chain anew, as a compaction does.
    System { id: String, subtype: &'static str, fields: Value, new_root: bool },
    /// A line that is no part of the chain.
    Meta(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentStatus {
    Completed,
    Failed,
    Stopped,
}

/// What a sub-agent came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentResult {
    pub result: CallResult,
    pub status: SubagentStatus,
    /// For `task_notification`: tokens, tool uses, duration.
    pub totals: Value,
    pub usage: Usage,
}
