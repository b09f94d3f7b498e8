//! What leaves on stdout, one event a line. `session_id` and `uuid` are not here: every line has
//! them, so [`crate::encode`] adds them in one place.

use crate::{ModelUsage, PermissionMode, Usage};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    System(System),
    Assistant(Box<Assistant>),
    User(Box<User>),
    Result(Box<Outcome>),
    /// A usage limit, where the turn ended on one. `resetsAt` is in seconds.
    RateLimitEvent {
        rate_limit_info: Value,
    },
    ToolProgress {
        tool_use_id: String,
        tool_name: String,
        parent_tool_use_id: Option<String>,
        elapsed_time_seconds: u64,
        heartbeat: bool,
    },
    ControlResponse {
        response: Value,
    },
    ControlRequest {
        request_id: String,
        request: Value,
    },
    ControlCancelRequest {
        request_id: String,
    },
    /// After `/clear`: later lines carry the new id.
    /// What the user may want to say next.
    PromptSuggestion {
        suggestion: String,
    },
    ConversationReset {
        new_conversation_id: String,
        trigger: &'static str,
    },
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub enum System {
    Init(Box<Init>),
    Status {
        status: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none", rename = "permissionMode")]
        permission_mode: Option<PermissionMode>,
        /// After a compaction: `success` or `failed`.
        #[serde(skip_serializing_if = "Option::is_none")]
        compact_result: Option<&'static str>,
    },
    ApiRetry(Retry),
    PermissionDenied(ToolDenied),
    Informational {
        content: String,
        level: &'static str,
    },
    CompactBoundary(CompactBoundary),
    TaskStarted(Box<TaskStarted>),
    TaskUpdated {
        task_id: String,
        patch: Value,
    },
    TaskNotification(Box<TaskNotification>),
    HookStarted {
        hook_id: String,
        hook_name: String,
        hook_event: &'static str,
    },
    HookResponse(Box<HookResponse>),
    Notification {
        key: &'static str,
        text: String,
        priority: &'static str,
    },
    SessionStateChanged {
        state: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        sdk_host_only: Option<bool>,
    },
    LocalCommandOutput {
        content: String,
    },
}

#[derive(Debug, Clone, Serialize)]
pub struct HookResponse {
    pub hook_id: String,
    pub hook_name: String,
    pub hook_event: &'static str,
    pub output: String,
    pub stdout: String,
    pub stderr: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// `success`, `error` or `cancelled`.
    pub outcome: &'static str,
}

/// Starts every turn.
#[derive(Debug, Clone, Serialize)]
pub struct Init {
    pub cwd: String,
    pub tools: Vec<String>,
    pub mcp_servers: Vec<Value>,
    pub model: String,
    #[serde(rename = "permissionMode")]
    pub permission_mode: PermissionMode,
    pub slash_commands: Vec<String>,
    #[serde(rename = "apiKeySource")]
    pub api_key_source: String,
    pub claude_code_version: String,
    pub output_style: String,
    pub agents: Vec<String>,
    pub skills: Vec<String>,
    pub plugins: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mcp_server_errors: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugin_errors: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub betas: Vec<String>,
    /// We collect neither; clients of the reference expect the fields.
    pub analytics_disabled: bool,
    pub product_feedback_disabled: bool,
    pub memory_paths: BTreeMap<String, String>,
    pub fast_mode_state: &'static str,
}

/// One finished content block of a model's message.
#[derive(Debug, Clone, Serialize)]
pub struct Assistant {
    /// The API's message with exactly one block in `content`.
    pub message: Value,
    pub parent_tool_use_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
    pub request_id: Option<String>,
    /// How clients show a call of an outside tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_meta: Option<Value>,
}

/// A tool's result, or a message we put into the conversation ourselves.
#[derive(Debug, Clone, Default, Serialize)]
pub struct User {
    pub message: Value,
    pub parent_tool_use_id: Option<String>,
    pub timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "isSynthetic")]
    pub is_synthetic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "isReplay")]
    pub is_replay: Option<bool>,
}

/// Ends every turn. `subtype` is `success` or one of the `error_…` names.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    pub subtype: &'static str,
    pub is_error: bool,
    pub duration_ms: u64,
    pub duration_api_ms: u64,
    pub num_turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<String>>,
    pub stop_reason: Option<String>,
    pub total_cost_usd: f64,
    pub usage: ResultUsage,
    #[serde(rename = "modelUsage")]
    pub model_usage: BTreeMap<String, ModelUsage>,
    pub permission_denials: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    /// The call that a hook put off; the run ended before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_tool_use: Option<Value>,
    /// Present, even as null, on `success`; absent on `error_…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_error_status: Option<Option<u16>>,
    pub terminal_reason: &'static str,
    pub fast_mode_state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_stream_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_request_ms: Option<u64>,
}

/// A turn's usage with the fields of the newest API that clients may look for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ResultUsage {
    #[serde(flatten)]
    pub usage: Usage,
    pub inference_geo: String,
    pub iterations: Vec<Value>,
    pub speed: String,
}

impl From<Usage> for ResultUsage {
    fn from(usage: Usage) -> Self {
        Self { usage, inference_geo: String::new(), iterations: Vec::new(), speed: "standard".into() }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Retry {
    pub attempt: u32,
    pub max_retries: u32,
    pub retry_delay_ms: u64,
    pub error_status: Option<u16>,
    pub error: &'static str,
}

#[derive(Debug, Clone, Serialize)]
pub struct ToolDenied {
    pub tool_name: String,
    pub tool_use_id: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_reason: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CompactBoundary {
    pub compact_metadata: CompactMetadata,
}

#[derive(Debug, Clone, Serialize)]
pub struct CompactMetadata {
    pub trigger: &'static str,
    pub pre_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TaskStarted {
    pub task_id: String,
    pub tool_use_id: String,
    pub description: String,
    pub task_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_backgrounded: Option<bool>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TaskNotification {
    pub task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// `completed`, `failed` or `stopped`.
    pub status: &'static str,
    pub output_file: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
}
