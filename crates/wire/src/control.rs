//! The control protocol from the agent's side: its requests to the client, and the answers of either side.
//!
//! The client's own requests are in `requests`. A request that nobody knows is `Unknown` and can still be answered.

use crate::message::{Field, message, tagged};
use crate::{Extra, Word};
use serde_json::Value;

tagged! {
    /// What the agent asks of its client.
    pub enum AgentRequest by "subtype" {
        CanUseTool(Box<CanUseTool>) = "can_use_tool",
        HookCallback(HookCallback) = "hook_callback",
        McpMessage(McpMessage) = "mcp_message",
        Elicitation(Box<Elicitation>) = "elicitation",
        RequestUserDialog(UserDialog) = "request_user_dialog",
    }
}

message! {
    /// May this tool run? Answered with a [`PermissionAnswer`].
    pub struct CanUseTool {
        tool_name: String = "tool_name",
        display_name: Option<String> = "display_name" optional,
        input: Value = "input",
        tool_use_id: String = "tool_use_id",
        description: Option<String> = "description" optional,
        permission_suggestions: Vec<PermissionUpdate> = "permission_suggestions",
        decision_reason: Option<String> = "decision_reason" optional,
        decision_reason_type: Option<Word> = "decision_reason_type" optional,
        blocked_path: Option<String> = "blocked_path" optional,
        agent_id: Option<String> = "agent_id" optional,
    }
}

message! {
    /// A hook that the client registered fires. Answered with the hook's output.
    pub struct HookCallback {
        callback_id: String = "callback_id",
        input: Value = "input",
        tool_use_id: Option<String> = "tool_use_id" optional,
    }
}

message! {
    /// A JSON-RPC message to or from an MCP server in the client's process. Answered with an [`McpAnswer`].
    pub struct McpMessage {
        server_name: String = "server_name",
        message: Value = "message",
    }
}

message! {
    /// A server's question to the client's user. Answered with an [`ElicitationAnswer`].
    pub struct Elicitation {
        mcp_server_name: String = "mcp_server_name",
        message: Option<String> = "message" optional,
        /// `form` or `url`.
        mode: Option<Word> = "mode" optional,
        url: Option<String> = "url" optional,
        elicitation_id: Option<String> = "elicitation_id" optional,
        requested_schema: Option<Value> = "requested_schema" optional,
    }
}

message! {
    pub struct UserDialog {
        dialog_kind: String = "dialog_kind",
        payload: Value = "payload",
        tool_use_id: Option<String> = "tool_use_id" optional,
    }
}

tagged! {
    /// The answer to a request, in both directions. Exactly one goes out for each request.
    pub enum ControlResponse by "subtype" {
        Success(ControlSuccess) = "success",
        Error(ControlError) = "error",
    }
}

message! {
    pub struct ControlSuccess {
        request_id: String = "request_id",
        response: Option<Value> = "response" optional,
    }
}

message! {
    pub struct ControlError {
        request_id: String = "request_id",
        error: Option<String> = "error" optional,
        error_code: Option<Word> = "error_code" optional,
    }
}

/// Of a request whose subtype is unknown.
pub const UNSUPPORTED: &str = "unsupported_request";

impl ControlResponse {
    pub fn success(request_id: impl Into<String>, response: Value) -> Self {
        Self::Success(ControlSuccess {
            request_id: request_id.into(),
            response: Some(response),
            ..ControlSuccess::default()
        })
    }

    pub fn error(request_id: impl Into<String>, error: impl Into<String>) -> Self {
        Self::Error(ControlError {
            request_id: request_id.into(),
            error: Some(error.into()),
            ..ControlError::default()
        })
    }

    /// A request that this version does not know.
    pub fn unsupported(request_id: impl Into<String>, error: impl Into<String>) -> Self {
        Self::Error(ControlError {
            request_id: request_id.into(),
            error: Some(error.into()),
            error_code: Some(UNSUPPORTED.into()),
            ..ControlError::default()
        })
    }

    /// The request that this answers.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Success(answer) => Some(answer.request_id.as_str()).filter(|_| !is_unread(&answer.extra)),
            Self::Error(answer) => Some(answer.request_id.as_str()).filter(|_| !is_unread(&answer.extra)),
            Self::Unknown(value) => value["request_id"].as_str(),
        }
    }

    /// The payload of a success, or the words of an error.
    pub fn into_result(self) -> Result<Value, Option<String>> {
        match self {
            Self::Success(answer) => Ok(answer.response.unwrap_or_else(|| Value::Object(Extra::new()))),
            Self::Error(answer) => Err(answer.error),
            Self::Unknown(value) => Err(value["error"].as_str().map(str::to_owned)),
        }
    }
}

/// An id that is no string is nobody's.
fn is_unread(extra: &Extra) -> bool {
    extra.contains_key("request_id")
}

impl ControlSuccess {
    /// The payload as the type that belongs to the request.
    pub fn payload<T: Field>(&self) -> Option<T> {
        T::read(self.response.clone()?).ok()
    }
}

tagged! {
    /// What a client, a hook or a permission tool says to [`CanUseTool`].
    pub enum PermissionAnswer by "behavior" {
        Allow(PermissionAllow) = "allow",
        Deny(PermissionDeny) = "deny",
    }
}

message! {
    pub struct PermissionAllow {
        updated_input: Option<Value> = "updatedInput" optional,
        updated_permissions: Option<Vec<PermissionUpdate>> = "updatedPermissions" optional,
        tool_use_id: Option<String> = "toolUseID" optional,
    }
}

message! {
    pub struct PermissionDeny {
        message: String = "message",
        /// The whole turn ends.
        interrupt: Option<bool> = "interrupt" optional,
        tool_use_id: Option<String> = "toolUseID" optional,
    }
}

tagged! {
    /// A change of the permission rules.
    pub enum PermissionUpdate by "type" {
        AddRules(RulesUpdate) = "addRules",
        ReplaceRules(RulesUpdate) = "replaceRules",
        RemoveRules(RulesUpdate) = "removeRules",
        SetMode(ModeUpdate) = "setMode",
        AddDirectories(DirectoriesUpdate) = "addDirectories",
        RemoveDirectories(DirectoriesUpdate) = "removeDirectories",
    }
}

message! {
    pub struct RulesUpdate {
        rules: Vec<PermissionRule> = "rules",
        /// `allow`, `deny` or `ask`.
        behavior: Word = "behavior",
        /// `session`, `localSettings`, `projectSettings`, `userSettings` or `cliArg`.
        destination: Word = "destination",
    }
}

message! {
    pub struct PermissionRule {
        tool_name: String = "toolName",
        rule_content: Option<Option<String>> = "ruleContent" optional,
    }
}

message! {
    pub struct ModeUpdate {
        mode: Word = "mode",
        destination: Word = "destination",
    }
}

message! {
    pub struct DirectoriesUpdate {
        directories: Vec<String> = "directories",
        destination: Word = "destination",
    }
}

message! {
    pub struct ElicitationAnswer {
        /// `accept`, `decline` or `cancel`.
        action: Word = "action",
        content: Option<Value> = "content" optional,
    }
}

message! {
    pub struct McpAnswer {
        mcp_response: Value = "mcp_response",
    }
}
