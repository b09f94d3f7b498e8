//! What is open in a session: its interaction, and the requests and calls of each conversation. Plain data.

use crate::attribution::Attribution;
use crate::detailed::RequestDetails;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use telemetry::{SpanId, TraceContext, TraceId};
use turn::Ticket;

/// From a prompt to its result.
#[derive(Debug, Clone)]
pub(crate) struct Interaction {
    pub(crate) context: TraceContext,
    pub(crate) start: u64,
    pub(crate) sequence: u64,
    /// What the user said.
    pub(crate) prompt: Option<String>,
}

/// A request whose body was recorded.
#[derive(Debug, Clone)]
pub(crate) struct SentBody {
    pub(crate) id: String,
    pub(crate) file: Option<PathBuf>,
}

/// An answer whose body is to be recorded.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedBody {
    pub(crate) text: String,
    pub(crate) message_id: String,
    pub(crate) sent: SentBody,
}

/// A question to the model that is not answered yet.
#[derive(Debug, Clone)]
pub(crate) struct OpenRequest {
    pub(crate) model: String,
    pub(crate) effort: Option<String>,
    /// When each attempt began.
    pub(crate) attempts: Vec<u64>,
    pub(crate) body: Option<SentBody>,
    pub(crate) attribution: Attribution,
    /// Only where detailed tracing is on.
    pub(crate) details: Option<Box<RequestDetails>>,
}

/// An answer whose last entry in the transcript is not written yet.
#[derive(Debug, Clone)]
pub(crate) struct OpenResponse {
    pub(crate) text: String,
    pub(crate) model: String,
    pub(crate) request_id: Option<String>,
    pub(crate) is_finished: bool,
    pub(crate) body: Option<ReceivedBody>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) request_id: Option<String>,
    pub(crate) start: u64,
    /// Who decides, as far as is known.
    pub(crate) source: &'static str,
    /// A hook would let it run.
    pub(crate) hook_allows: bool,
    /// When it was let run.
    pub(crate) running_since: Option<u64>,
}

/// Work whose answer says something about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Check,
    PreHook,
    PermissionHook,
    Verdict,
    Permission,
    Running,
}

/// One conversation: the main one or an agent's.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// What an agent's spans hang below; the main conversation's hang below the interaction.
    pub(crate) parent: Option<TraceContext>,
    /// The interaction in which an agent began.
    pub(crate) salt: Option<SpanId>,
    pub(crate) requests: HashMap<Ticket, OpenRequest>,
    pub(crate) calls: HashMap<String, Call>,
    pub(crate) waits: HashMap<Ticket, (Wait, String)>,
    /// The server and the tool of the first result that no request has had yet.
    pub(crate) mcp_result: Option<(String, String)>,
    /// Of the last answer.
    pub(crate) request_id: Option<String>,
    pub(crate) model: String,
    pub(crate) response: Option<OpenResponse>,
    pub(crate) last_entry: Option<String>,
    /// The trigger and the beginning of a compaction.
    pub(crate) compaction: Option<(&'static str, u64)>,
}

impl Talk {
    /// The call that an answer is about.
    pub(crate) fn answered(&mut self, ticket: Ticket) -> Option<(Wait, String)> {
        self.waits.remove(&ticket)
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) session_id: String,
    pub(crate) interaction: Option<Interaction>,
    pub(crate) interactions: u64,
    pub(crate) prompt_id: Option<String>,
    /// The text of a prompt that may be a command.
    pub(crate) maybe_command: Option<String>,
    pub(crate) is_prompt_told: bool,
    pub(crate) mode: Option<&'static str>,
    /// The skill that was called last in this turn.
    pub(crate) skill: Option<String>,
    /// Calls whose agents nobody waits for.
    pub(crate) background_calls: HashSet<String>,
    /// The digests of system prompts that were told.
    pub(crate) told_prompts: HashSet<String>,
    /// By the agent's id; the main conversation's is empty.
    pub(crate) talks: HashMap<String, Talk>,
    /// The last status of each server, with its transport and scope.
    pub(crate) servers: HashMap<String, (String, String, String)>,
}

/// A span of its parent's trace that is known by what it is about, so that a child can be told of it before it has ended. `salt` is the
/// interaction's, because ids of calls are unique in one answer only.
pub(crate) fn span_of(parent: TraceContext, salt: SpanId, words: &[&str]) -> TraceContext {
    let span = SpanId::of(TraceId(parent.trace.0 ^ u128::from(salt.0)), words);
    TraceContext { span, ..parent }
}
