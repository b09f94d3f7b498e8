//! `system` events: everything about a session that is neither a message nor a result.

use crate::message::{message, tagged};
use crate::{PermissionMode, Word};
use serde_json::Value;
use std::collections::BTreeMap;

tagged! {
    pub enum System by "subtype" {
        Init(Box<Init>) = "init",
        Status(Status) = "status",
        ApiRetry(Retry) = "api_retry",
        PermissionDenied(Box<ToolDenied>) = "permission_denied",
        Informational(Informational) = "informational",
        CompactBoundary(CompactBoundary) = "compact_boundary",
        TaskStarted(Box<TaskStarted>) = "task_started",
        TaskProgress(Box<TaskProgress>) = "task_progress",
        TaskUpdated(TaskUpdated) = "task_updated",
        TaskNotification(Box<TaskNotification>) = "task_notification",
        BackgroundTasksChanged(BackgroundTasksChanged) = "background_tasks_changed",
        HookStarted(HookStarted) = "hook_started",
        HookResponse(Box<HookResponse>) = "hook_response",
        Notification(Notification) = "notification",
        SessionStateChanged(SessionStateChanged) = "session_state_changed",
        LocalCommandOutput(LocalCommandOutput) = "local_command_output",
        PluginInstall(PluginInstall) = "plugin_install",
        ModelFallback(Box<ModelFallback>) = "model_fallback",
    }
}

impl System {
    /// `level` is `info`, `notice`, `suggestion` or `warning`.
    pub fn informational(content: impl Into<String>, level: &'static str) -> Self {
        Self::Informational(Informational { content: content.into(), level: level.into(), ..Informational::default() })
    }
}

message! {
    /// How the installation of plugins that the settings name goes on.
    pub struct PluginInstall {
        /// `started`, `installed`, `failed` or `completed`.
        status: String = "status",
        name: Option<String> = "name" optional,
        error: Option<String> = "error" optional,
    }
}

message! {
    /// Starts every turn.
    pub struct Init {
        cwd: String = "cwd",
        tools: Vec<String> = "tools",
        mcp_servers: Vec<Value> = "mcp_servers",
        model: Option<String> = "model",
        /// [`PermissionMode::parse`] reads it.
        permission_mode: Word = "permissionMode",
        slash_commands: Vec<String> = "slash_commands",
        api_key_source: String = "apiKeySource",
        claude_code_version: String = "claude_code_version",
        output_style: String = "output_style",
        agents: Vec<String> = "agents",
        skills: Vec<String> = "skills",
        plugins: Vec<Value> = "plugins",
        mcp_server_errors: Vec<Value> = "mcp_server_errors" optional,
        plugin_errors: Vec<Value> = "plugin_errors" optional,
        betas: Vec<String> = "betas" optional,
        /// We collect neither; clients of the reference expect the fields.
        analytics_disabled: bool = "analytics_disabled",
        product_feedback_disabled: bool = "product_feedback_disabled",
        memory_paths: BTreeMap<String, String> = "memory_paths",
        fast_mode_state: Word = "fast_mode_state",
        /// Clouds do not have it.
        fast_mode_disabled_reason: Option<String> = "fast_mode_disabled_reason" optional,
        /// What clients may rely on beside the fields, by the names that they know.
        capabilities: Vec<String> = "capabilities" optional,
        /// Where the run began.
        original_cwd: String = "original_cwd",
        /// Folders beside `cwd` that tools may use.
        additional_directories: Vec<String> = "additional_directories",
    }
}

message! {
    pub struct Status {
        /// `compacting`, `requesting` or nothing.
        status: Option<Word> = "status",
        permission_mode: Option<Word> = "permissionMode" optional,
        /// After a compaction: `success` or `failed`.
        compact_result: Option<Word> = "compact_result" optional,
    }
}

impl Status {
    pub fn of_mode(mode: PermissionMode) -> Self {
        Self { permission_mode: Some(mode.as_str().into()), ..Self::default() }
    }
}

message! {
    pub struct Retry {
        attempt: u32 = "attempt",
        max_retries: u32 = "max_retries",
        retry_delay_ms: u64 = "retry_delay_ms",
        error_status: Option<u16> = "error_status",
        error: Word = "error",
    }
}

message! {
    pub struct ToolDenied {
        tool_name: String = "tool_name",
        tool_use_id: String = "tool_use_id",
        message: String = "message",
        agent_id: Option<String> = "agent_id" optional,
        decision_reason_type: Option<Word> = "decision_reason_type" optional,
        decision_reason: Option<String> = "decision_reason" optional,
    }
}

message! {
    pub struct Informational {
        content: String = "content",
        level: Word = "level",
        /// Nothing follows: a hook refused what was about to happen.
        prevent_continuation: Option<bool> = "prevent_continuation" optional,
    }
}

message! {
    /// The rest of the turn is answered by another model.
    pub struct ModelFallback {
        /// What kind of failure made it necessary, such as `overloaded`.
        trigger: Word = "trigger",
        original_model: String = "original_model",
        fallback_model: String = "fallback_model",
        content: String = "content",
    }
}

message! {
    pub struct CompactBoundary {
        compact_metadata: CompactMetadata = "compact_metadata",
    }
}

message! {
    pub struct CompactMetadata {
        /// `manual` or `auto`.
        trigger: Word = "trigger",
        pre_tokens: u64 = "pre_tokens",
        post_tokens: Option<u64> = "post_tokens" optional,
        duration_ms: Option<u64> = "duration_ms" optional,
    }
}

message! {
    pub struct TaskStarted {
        task_id: String = "task_id",
        tool_use_id: String = "tool_use_id",
        description: String = "description",
        task_type: Word = "task_type",
        subagent_type: Option<String> = "subagent_type" optional,
        prompt: Option<String> = "prompt" optional,
        is_backgrounded: Option<bool> = "is_backgrounded" optional,
        run_id: Option<String> = "run_id" optional,
    }
}

message! {
    /// How far a sub-agent has come, after each of its steps.
    pub struct TaskProgress {
        task_id: String = "task_id",
        tool_use_id: String = "tool_use_id",
        description: String = "description",
        subagent_type: String = "subagent_type",
        usage: Value = "usage",
        last_tool_name: String = "last_tool_name",
    }
}

message! {
    /// Every background task that runs, after one of them began or ended.
    pub struct BackgroundTasksChanged {
        tasks: Vec<Value> = "tasks",
    }
}

impl BackgroundTasksChanged {
    /// Those of the tasks that are agents.
    pub fn agents(&self) -> impl Iterator<Item = &Value> {
        self.tasks.iter().filter(|task| task["task_type"] == "local_agent")
    }
}

message! {
    pub struct TaskUpdated {
        task_id: String = "task_id",
        /// The fields that changed.
        patch: Value = "patch",
    }
}

message! {
    pub struct TaskNotification {
        task_id: String = "task_id",
        tool_use_id: Option<String> = "tool_use_id" optional,
        /// `completed`, `failed` or `stopped`.
        status: Word = "status",
        output_file: String = "output_file",
        summary: String = "summary",
        usage: Option<Value> = "usage" optional,
    }
}

message! {
    pub struct HookStarted {
        hook_id: String = "hook_id",
        hook_name: String = "hook_name",
        hook_event: Word = "hook_event",
    }
}

message! {
    pub struct HookResponse {
        hook_id: String = "hook_id",
        hook_name: String = "hook_name",
        hook_event: Word = "hook_event",
        output: String = "output",
        stdout: String = "stdout",
        stderr: String = "stderr",
        exit_code: Option<i32> = "exit_code" optional,
        /// `success`, `error` or `cancelled`.
        outcome: Word = "outcome",
    }
}

message! {
    pub struct Notification {
        key: Word = "key",
        text: String = "text",
        priority: Word = "priority",
    }
}

message! {
    pub struct SessionStateChanged {
        /// `idle`, `running` or `requires_action`.
        state: Word = "state",
        sdk_host_only: Option<bool> = "sdk_host_only" optional,
    }
}

message! {
    pub struct LocalCommandOutput {
        content: String = "content",
    }
}
