//! The control requests of a client, and the payload of each answer.

use crate::message::{message, tagged};
use crate::{Extra, McpMessage, Word};
use serde_json::Value;

tagged! {
    pub enum ClientRequest by "subtype" {
        /// Answered with [`Initialized`].
        Initialize(Box<Initialize>) = "initialize",
        /// Answered with an [`InterruptReceipt`].
        Interrupt(Interrupt) = "interrupt",
        CancelAsyncMessage(CancelAsyncMessage) = "cancel_async_message",
        SetPermissionMode(SetPermissionMode) = "set_permission_mode",
        SetModel(SetModel) = "set_model",
        SetMaxThinkingTokens(SetMaxThinkingTokens) = "set_max_thinking_tokens",
        ApplyFlagSettings(ApplyFlagSettings) = "apply_flag_settings",
        /// Answered with a [`SettingsReport`].
        GetSettings(Extra) = "get_settings",
        /// Answered with a [`ContextUsage`].
        GetContextUsage(GetContextUsage) = "get_context_usage",
        /// Answered with a [`SessionCost`].
        GetSessionCost(Extra) = "get_session_cost",
        GetBinaryVersion(Extra) = "get_binary_version",
        ListModels(Extra) = "list_models",
        RegisterRepoRoot(RegisterRepoRoot) = "register_repo_root",
        RenameSession(RenameSession) = "rename_session",
        /// Answered with a [`McpStatus`].
        McpStatus(Extra) = "mcp_status",
        McpReconnect(McpServer) = "mcp_reconnect",
        McpToggle(McpToggle) = "mcp_toggle",
        /// Answered with [`McpServersSet`].
        McpSetServers(McpSetServers) = "mcp_set_servers",
        McpMessage(McpMessage) = "mcp_message",
        StopTask(TaskId) = "stop_task",
        BackgroundTasks(BackgroundTasks) = "background_tasks",
        /// Answered with a [`TaskOutput`].
        GetTaskOutput(TaskId) = "get_task_output",
        /// Answered with [`Rewound`].
        RewindFiles(RewindFiles) = "rewind_files",
        ReloadSkills(Extra) = "reload_skills",
        ReloadPlugins(ReloadPlugins) = "reload_plugins",
        ReloadOutputStyles(Extra) = "reload_output_styles",
        /// Answered with [`FileContents`].
        ReadFile(ReadFile) = "read_file",
        SeedReadState(SeedReadState) = "seed_read_state",
    }
}

message! {
    /// What a client sets up before its first prompt.
    pub struct Initialize {
        /// By event: groups of matchers and callback ids.
        hooks: Option<Value> = "hooks" optional,
        sdk_mcp_servers: Option<Vec<String>> = "sdkMcpServers" optional,
        json_schema: Option<Value> = "jsonSchema" optional,
        /// A string or a list of parts.
        system_prompt: Option<Value> = "systemPrompt" optional,
        append_system_prompt: Option<String> = "appendSystemPrompt" optional,
        exclude_dynamic_sections: Option<bool> = "excludeDynamicSections" optional,
        plan_mode_instructions: Option<String> = "planModeInstructions" optional,
        tool_aliases: Option<Extra> = "toolAliases" optional,
        agents: Option<Value> = "agents" optional,
        title: Option<String> = "title" optional,
        skills: Option<Vec<String>> = "skills" optional,
        plugins: Option<Vec<Value>> = "plugins" optional,
        prompt_suggestions: Option<bool> = "promptSuggestions" optional,
        forward_subagent_text: Option<bool> = "forwardSubagentText" optional,
    }
}

message! {
    pub struct Interrupt {
        cancel_queued: Option<bool> = "cancel_queued" optional,
    }
}

message! {
    pub struct CancelAsyncMessage {
        message_uuid: String = "message_uuid",
    }
}

message! {
    pub struct SetPermissionMode {
        /// A name of [`crate::PermissionMode`].
        mode: Word = "mode",
    }
}

message! {
    pub struct SetModel {
        /// Nothing or `default`: the session's own.
        model: Option<String> = "model" optional,
    }
}

message! {
    pub struct SetMaxThinkingTokens {
        /// Null takes the session's own; absent changes nothing.
        max_thinking_tokens: Option<Option<u64>> = "max_thinking_tokens" optional,
        thinking_display: Option<Option<Word>> = "thinking_display" optional,
    }
}

message! {
    pub struct ApplyFlagSettings {
        /// A null value takes a setting back.
        settings: Extra = "settings",
    }
}

message! {
    pub struct GetContextUsage {
        detail: Option<Word> = "detail" optional,
    }
}

message! {
    pub struct RegisterRepoRoot {
        directory: String = "directory",
    }
}

message! {
    pub struct RenameSession {
        title: String = "title",
        session_id: Option<String> = "session_id" optional,
    }
}

message! {
    pub struct McpServer {
        server_name: String = "serverName",
    }
}

message! {
    pub struct McpToggle {
        server_name: String = "serverName",
        enabled: bool = "enabled",
    }
}

message! {
    pub struct McpSetServers {
        servers: Extra = "servers",
    }
}

message! {
    pub struct TaskId {
        task_id: String = "task_id",
    }
}

message! {
    pub struct BackgroundTasks {
        tool_use_id: Option<String> = "tool_use_id" optional,
    }
}

message! {
    pub struct RewindFiles {
        user_message_id: String = "user_message_id",
        dry_run: Option<bool> = "dry_run" optional,
    }
}

message! {
    pub struct ReloadPlugins {
        add_plugins: Option<Vec<Value>> = "add_plugins" optional,
        hold_on_cache_impact: Option<bool> = "hold_on_cache_impact" optional,
    }
}

message! {
    pub struct ReadFile {
        path: String = "path",
        max_bytes: Option<u64> = "max_bytes" optional,
        /// `utf-8` or `base64`.
        encoding: Option<Word> = "encoding" optional,
    }
}

message! {
    pub struct SeedReadState {
        path: String = "path",
        /// In milliseconds.
        mtime: f64 = "mtime",
    }
}

message! {
    pub struct Initialized {
        commands: Vec<Value> = "commands",
        agents: Vec<Value> = "agents",
        output_style: String = "output_style",
        available_output_styles: Vec<String> = "available_output_styles",
        models: Vec<Value> = "models",
        account: Value = "account",
        claude_code_version: String = "claude_code_version",
        pid: u64 = "pid",
        fast_mode_state: Word = "fast_mode_state",
        hooks_applied: Option<bool> = "hooks_applied" optional,
        hook_on_failure_supported: Option<bool> = "hook_on_failure_supported" optional,
        plugins_applied: Option<bool> = "plugins_applied" optional,
    }
}

message! {
    pub struct InterruptReceipt {
        still_queued: Vec<String> = "still_queued",
        cancelled: Option<Vec<String>> = "cancelled" optional,
    }
}

message! {
    pub struct SettingsReport {
        effective: Value = "effective",
        sources: Vec<Value> = "sources",
        applied: Value = "applied",
    }
}

message! {
    pub struct ContextUsage {
        categories: Vec<Value> = "categories",
        total_tokens: u64 = "totalTokens",
        max_tokens: u64 = "maxTokens",
        raw_max_tokens: u64 = "rawMaxTokens",
        percentage: f64 = "percentage",
        model: String = "model",
    }
}

message! {
    pub struct SessionCost {
        total_cost_usd: f64 = "total_cost_usd",
    }
}

message! {
    pub struct McpStatus {
        mcp_servers: Vec<McpServerStatus> = "mcpServers",
    }
}

message! {
    pub struct McpServerStatus {
        name: String = "name",
        /// `connected`, `failed`, `needs-auth`, `pending` or `disabled`.
        status: Word = "status",
        error: Option<String> = "error" optional,
    }
}

message! {
    pub struct McpServersSet {
        added: Vec<String> = "added",
        removed: Vec<String> = "removed",
        /// By server.
        errors: Extra = "errors",
    }
}

message! {
    pub struct TaskOutput {
        output: String = "output",
        total_bytes: u64 = "total_bytes",
        truncated: bool = "truncated",
    }
}

message! {
    pub struct Rewound {
        can_rewind: bool = "canRewind",
        error: Option<String> = "error" optional,
        files_changed: Option<Vec<String>> = "filesChanged" optional,
        insertions: Option<u64> = "insertions" optional,
        deletions: Option<u64> = "deletions" optional,
    }
}

message! {
    pub struct FileContents {
        contents: String = "contents",
        abs_path: String = "absPath",
        encoding: Option<Word> = "encoding" optional,
        lossy: Option<bool> = "lossy" optional,
        truncated: Option<bool> = "truncated" optional,
    }
}
