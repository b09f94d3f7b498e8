//! What leaves on stdout, one event a line. `session_id` and `uuid` are not here: nearly every line has them, so
//! [`crate::encode`] adds them in one place and [`crate::Line`] takes them off.

use crate::message::{message, tagged};
use crate::{
    AgentRequest, CacheCreation, ControlResponse, Extra, Message, ModelUsage, Partial, ServerToolUse, System, Usage,
    Word,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

tagged! {
    pub enum Event by "type" {
        System(System) = "system",
        Assistant(Box<Assistant>) = "assistant",
        User(Box<User>) = "user",
        Result(Box<Outcome>) = "result",
        /// A piece of a streaming message.
        StreamEvent(Box<Partial>) = "stream_event",
        /// A usage limit, where the turn ended on one.
        RateLimitEvent(RateLimitEvent) = "rate_limit_event",
        ToolProgress(ToolProgress) = "tool_progress",
        ControlRequest(Box<AgentControlRequest>) = "control_request",
        ControlResponse(ControlResponseLine) = "control_response",
        ControlCancelRequest(ControlCancel) = "control_cancel_request",
        /// What the user may want to say next.
        PromptSuggestion(PromptSuggestion) = "prompt_suggestion",
        /// After `/clear`: later lines carry the new id.
        ConversationReset(ConversationReset) = "conversation_reset",
        /// Entries of the transcript, for clients that keep a copy.
        TranscriptMirror(TranscriptMirror) = "transcript_mirror",
        KeepAlive(Extra) = "keep_alive",
    }
}

impl Event {
    pub fn control_request(request_id: impl Into<String>, request: AgentRequest) -> Self {
        let line = AgentControlRequest { request_id: request_id.into(), request, ..AgentControlRequest::default() };
        Self::ControlRequest(Box::new(line))
    }

    pub fn control_response(response: ControlResponse) -> Self {
        Self::ControlResponse(ControlResponseLine { response, ..ControlResponseLine::default() })
    }

    /// Withdraws a request of ours.
    pub fn control_cancel(request_id: impl Into<String>) -> Self {
        Self::ControlCancelRequest(ControlCancel { request_id: request_id.into(), ..ControlCancel::default() })
    }

    /// The tool call whose sub-agent this event is from; `None` is the main agent.
    pub fn parent_tool_use_id(&self) -> Option<&str> {
        match self {
            Self::Assistant(event) => event.parent_tool_use_id.as_deref(),
            Self::User(event) => event.parent_tool_use_id.as_deref(),
            Self::StreamEvent(event) => event.parent_tool_use_id.as_deref(),
            Self::ToolProgress(event) => event.parent_tool_use_id.as_deref(),
            Self::Unknown(value) => value["parent_tool_use_id"].as_str(),
            _ => None,
        }
    }
}

message! {
    /// One finished content block of a model's message.
    pub struct Assistant {
        /// The API's message with exactly one block in `content`.
        message: Message = "message",
        parent_tool_use_id: Option<String> = "parent_tool_use_id",
        error: Option<Word> = "error" optional,
        request_id: Option<String> = "request_id",
        /// How clients show a call of a tool that an MCP server brings.
        tool_use_meta: Option<Value> = "tool_use_meta" optional,
    }
}

message! {
    /// A tool's result, or a message we put into the conversation ourselves.
    pub struct User {
        message: Message = "message",
        parent_tool_use_id: Option<String> = "parent_tool_use_id",
        timestamp: String = "timestamp",
        tool_use_result: Option<Value> = "tool_use_result" optional,
        is_synthetic: Option<bool> = "isSynthetic" optional,
        is_replay: Option<bool> = "isReplay" optional,
    }
}

message! {
    /// Ends every turn. `subtype` is `success` or one of the `error_…` names.
    pub struct Outcome {
        subtype: Word = "subtype",
        /// `None`: an agent of another kind did not say; see [`Outcome::is_error`].
        is_error: Option<bool> = "is_error" optional,
        duration_ms: u64 = "duration_ms",
        duration_api_ms: u64 = "duration_api_ms",
        num_turns: u64 = "num_turns",
        result: Option<String> = "result" optional,
        errors: Option<Vec<String>> = "errors" optional,
        stop_reason: Option<String> = "stop_reason",
        total_cost_usd: Option<f64> = "total_cost_usd" optional,
        usage: ResultUsage = "usage",
        model_usage: BTreeMap<String, ModelUsage> = "modelUsage",
        /// What was added to `modelUsage` since the result before.
        model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>> = "model_usage_since_last_result" optional,
        permission_denials: Vec<Value> = "permission_denials",
        /// Prompts that wait: each is another turn.
        queued_turn_count: Option<u64> = "queued_turn_count" optional,
        structured_output: Option<Value> = "structured_output" optional,
        /// The call that a hook put off; the run ended before it.
        deferred_tool_use: Option<Value> = "deferred_tool_use" optional,
        /// Present, even as null, on `success`; absent on `error_…`.
        api_error_status: NullableStatus = "api_error_status" optional,
        /// Agents that the run has started, and what became of them.
        subagent_stats: Option<Value> = "subagent_stats" optional,
        /// How many results came before it in this run.
        result_index: Option<u64> = "result_index" optional,
        terminal_reason: Word = "terminal_reason",
        fast_mode_state: Word = "fast_mode_state",
        origin: Option<Value> = "origin" optional,
        ttft_ms: Option<u64> = "ttft_ms" optional,
        ttft_stream_ms: Option<u64> = "ttft_stream_ms" optional,
        time_to_request_ms: Option<u64> = "time_to_request_ms" optional,
    }
}

/// An HTTP status that may be null and may be absent.
pub type NullableStatus = Option<Option<u16>>;

impl Outcome {
    /// Agents that do not say `is_error` may still name an `error`.
    pub fn is_error(&self) -> bool {
        self.is_error.unwrap_or_else(|| self.extra.get("error").is_some_and(|error| !error.is_null()))
    }

    /// The answer, or else the errors that are listed.
    pub fn text(&self) -> String {
        let error = || self.extra.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
        let listed = || self.errors.as_ref().map_or_else(error, |errors| errors.join("\n"));
        self.result.clone().unwrap_or_else(listed)
    }
}

/// A turn's usage with the fields of the newest API that clients may look for, kept as it came.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ResultUsage(pub Value);

impl ResultUsage {
    /// `None` where it cannot be read as token counts.
    pub fn usage(&self) -> Option<Usage> {
        crate::content::usage(&self.0)
    }

    fn new(usage: &Usage, speed: &str) -> Self {
        let ServerToolUse { web_search_requests, web_fetch_requests } = usage.server_tool_use;
        let CacheCreation { ephemeral_1h_input_tokens, ephemeral_5m_input_tokens } = usage.cache_creation;
        Self(json!({
            "input_tokens": usage.input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "output_tokens": usage.output_tokens,
            "server_tool_use": {"web_search_requests": web_search_requests, "web_fetch_requests": web_fetch_requests},
            "service_tier": usage.service_tier,
            "cache_creation": {
                "ephemeral_1h_input_tokens": ephemeral_1h_input_tokens,
                "ephemeral_5m_input_tokens": ephemeral_5m_input_tokens,
            },
            "inference_geo": "",
            "iterations": [],
            "speed": speed,
        }))
    }
}

impl Default for ResultUsage {
    fn default() -> Self {
        Self::new(&Usage::default(), "")
    }
}

impl From<Usage> for ResultUsage {
    fn from(usage: Usage) -> Self {
        Self::new(&usage, "standard")
    }
}

impl crate::message::Field for ResultUsage {
    fn read(value: Value) -> Result<Self, Value> {
        Ok(Self(value))
    }
}

message! {
    pub struct RateLimitEvent {
        rate_limit_info: RateLimitInfo = "rate_limit_info",
    }
}

message! {
    pub struct RateLimitInfo {
        /// `allowed`, `allowed_warning` or `rejected`.
        status: Word = "status",
        /// In seconds.
        resets_at: Option<u64> = "resetsAt" optional,
        rate_limit_type: Option<Word> = "rateLimitType" optional,
    }
}

message! {
    pub struct ToolProgress {
        tool_use_id: String = "tool_use_id",
        tool_name: String = "tool_name",
        parent_tool_use_id: Option<String> = "parent_tool_use_id",
        elapsed_time_seconds: u64 = "elapsed_time_seconds",
        heartbeat: bool = "heartbeat",
    }
}

message! {
    pub struct AgentControlRequest {
        request_id: String = "request_id",
        request: AgentRequest = "request",
    }
}

message! {
    pub struct ControlResponseLine {
        response: ControlResponse = "response",
    }
}

message! {
    pub struct ControlCancel {
        request_id: String = "request_id",
    }
}

message! {
    pub struct PromptSuggestion {
        suggestion: String = "suggestion",
    }
}

message! {
    pub struct ConversationReset {
        new_conversation_id: String = "new_conversation_id",
        trigger: Word = "trigger",
    }
}

message! {
    pub struct TranscriptMirror {
        file_path: String = "filePath",
        entries: Vec<Value> = "entries",
    }
}
