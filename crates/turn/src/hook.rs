//! Hook events that a conversation fires, with typed payloads, and what hooks answer.
//!
//! Deliberately absent: events outside of a conversation (files, settings, servers), which hooks listen, and the fields
//! that every event has. Those are the runtime's.

use serde_json::{Map, Value, json};

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub enum Hook {
    Setup {
        trigger: &'static str,
    },
    SessionStart {
        source: &'static str,
        model: String,
        agent_type: Option<String>,
        title: Option<String>,
    },
    SessionEnd {
        reason: &'static str,
    },
    UserPromptSubmit {
        prompt: String,
    },
    UserPromptExpansion {
        kind: &'static str,
        name: String,
        args: String,
        source: String,
        prompt: String,
    },
    PreToolUse {
        name: String,
        input: Value,
        tool_use_id: String,
    },
    PermissionRequest {
        name: String,
        input: Value,
        tool_use_id: String,
        suggestions: Vec<Value>,
    },
    PermissionDenied {
        name: String,
        input: Value,
        tool_use_id: String,
        reason: String,
    },
    /// The runtime hides secrets in the response.
    PostToolUse {
        name: String,
        input: Value,
        tool_use_id: String,
        response: Value,
        duration_ms: u64,
    },
    /// The runtime hides secrets in the error.
    PostToolUseFailure {
        name: String,
        input: Value,
        tool_use_id: String,
        error: String,
        duration_ms: u64,
    },
    PostToolBatch {
        calls: Vec<Value>,
    },
    /// The runtime adds the background tasks.
    Stop {
        is_active: bool,
        last_text: String,
    },
    /// The runtime adds the background tasks and the path of the transcript.
    SubagentStop {
        is_active: bool,
        last_text: String,
        agent_id: String,
        agent_type: String,
    },
    StopFailure {
        category: &'static str,
        message: String,
        last_text: String,
    },
    SubagentStart {
        agent_id: String,
        agent_type: String,
    },
    PreCompact {
        trigger: &'static str,
        wish: Option<String>,
    },
    PostCompact {
        trigger: &'static str,
        summary: String,
    },
    /// The runtime adds prices and sizes.
    PostModelSwitch(ModelSwitch),
}

/// The conversation went over to another model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSwitch {
    pub from: String,
    pub to: String,
}

/// What a hook decides about a call, in the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookDecision {
    Allow,
    Ask,
    /// End the run here and let the caller decide the call later.
    Defer,
    Deny,
}

/// What all hooks of an event have said, merged. What is for people (messages, errors) the runtime has told already.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookAnswer {
    /// Why what was about to happen must not; after a tool has run, what the model is told about it.
    pub blocked: Option<String>,
    pub decision: Option<HookDecision>,
    /// Of the decision.
    pub reason: Option<String>,
    /// The whole input that replaces the call's.
    pub updated_input: Option<Value>,
    /// For the model.
    pub contexts: Vec<String>,
    /// The whole run ends, for this reason.
    pub stop: Option<String>,
    /// Replaces what the tool answered.
    pub updated_output: Option<Value>,
    /// The decision object of a PermissionRequest hook, in the form of a client's answer.
    pub permission: Option<Value>,
    /// The model may try a denied call again.
    pub retry: bool,
    pub session_title: Option<String>,
    pub initial_user_message: Option<String>,
}

impl Hook {
    /// The name that settings and payloads use.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Setup { .. } => "Setup",
            Self::SessionStart { .. } => "SessionStart",
            Self::SessionEnd { .. } => "SessionEnd",
            Self::UserPromptSubmit { .. } => "UserPromptSubmit",
            Self::UserPromptExpansion { .. } => "UserPromptExpansion",
            Self::PreToolUse { .. } => "PreToolUse",
            Self::PermissionRequest { .. } => "PermissionRequest",
            Self::PermissionDenied { .. } => "PermissionDenied",
            Self::PostToolUse { .. } => "PostToolUse",
            Self::PostToolUseFailure { .. } => "PostToolUseFailure",
            Self::PostToolBatch { .. } => "PostToolBatch",
            Self::Stop { .. } => "Stop",
            Self::SubagentStop { .. } => "SubagentStop",
            Self::StopFailure { .. } => "StopFailure",
            Self::SubagentStart { .. } => "SubagentStart",
            Self::PreCompact { .. } => "PreCompact",
            Self::PostCompact { .. } => "PostCompact",
            Self::PostModelSwitch { .. } => "PostModelSwitch",
        }
    }

    /// What matchers are compared with.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Setup { trigger } | Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => {
                Some(trigger)
            }
            Self::SessionStart { source, .. } => Some(source),
            Self::SessionEnd { reason } => Some(reason),
            Self::UserPromptSubmit { .. } | Self::PostToolBatch { .. } | Self::Stop { .. } => None,
            Self::UserPromptExpansion { name, .. }
            | Self::PreToolUse { name, .. }
            | Self::PermissionRequest { name, .. }
            | Self::PermissionDenied { name, .. }
            | Self::PostToolUse { name, .. }
            | Self::PostToolUseFailure { name, .. } => Some(name),
            Self::SubagentStop { agent_type, .. } | Self::SubagentStart { agent_type, .. } => Some(agent_type),
            Self::StopFailure { category, .. } => Some(category),
            Self::PostModelSwitch(switch) => Some(&switch.to),
        }
    }

    /// The call that the event is about.
    pub fn tool_use_id(&self) -> Option<&str> {
        match self {
            Self::PreToolUse { tool_use_id, .. }
            | Self::PermissionRequest { tool_use_id, .. }
            | Self::PermissionDenied { tool_use_id, .. }
            | Self::PostToolUse { tool_use_id, .. }
            | Self::PostToolUseFailure { tool_use_id, .. } => Some(tool_use_id),
            _ => None,
        }
    }

    /// The event's own fields of the payload, in the order of the contract.
    pub fn fields(self) -> Map<String, Value> {
        match self {
            Self::Setup { trigger } => fields([("trigger", json!(trigger))]),
            Self::SessionStart { source, model, agent_type, title } => {
                let mut map = fields([("source", json!(source)), ("model", json!(model))]);
                map.extend(agent_type.map(|agent| ("agent_type".to_owned(), json!(agent))));
                map.extend(title.map(|title| ("session_title".to_owned(), json!(title))));
                map
            }
            Self::SessionEnd { reason } => fields([("reason", json!(reason))]),
            Self::UserPromptSubmit { prompt } => fields([("prompt", json!(prompt))]),
            Self::UserPromptExpansion { kind, name, args, source, prompt } => fields([
                ("expansion_type", json!(kind)),
                ("command_name", json!(name)),
                ("command_args", json!(args)),
                ("command_source", json!(source)),
                ("prompt", json!(prompt)),
            ]),
            Self::PreToolUse { name, input, tool_use_id } => call(name, input, Some(tool_use_id)),
            Self::PermissionRequest { name, input, suggestions, .. } => {
                with(call(name, input, None), [("permission_suggestions", json!(suggestions))])
            }
            Self::PermissionDenied { name, input, tool_use_id, reason } => {
                with(call(name, input, Some(tool_use_id)), [("reason", json!(reason))])
            }
            Self::PostToolUse { name, input, tool_use_id, response, duration_ms } => with(
                call(name, input, Some(tool_use_id)),
                [("duration_ms", json!(duration_ms)), ("tool_response", response)],
            ),
            Self::PostToolUseFailure { name, input, tool_use_id, error, duration_ms } => with(
                call(name, input, Some(tool_use_id)),
                [("duration_ms", json!(duration_ms)), ("error", json!(error)), ("is_interrupt", json!(false))],
            ),
            Self::PostToolBatch { calls } => fields([("tool_calls", json!(calls))]),
            Self::Stop { is_active, last_text } => {
                fields([("stop_hook_active", json!(is_active)), ("last_assistant_message", json!(last_text))])
            }
            Self::SubagentStop { is_active, last_text, agent_id, agent_type } => fields([
                ("stop_hook_active", json!(is_active)),
                ("last_assistant_message", json!(last_text)),
                ("agent_id", json!(agent_id)),
                ("agent_type", json!(agent_type)),
            ]),
            Self::StopFailure { category, message, last_text } => fields([
                ("error", json!(category)),
                ("error_details", json!(message)),
                ("last_assistant_message", json!(last_text)),
            ]),
            Self::SubagentStart { agent_id, agent_type } => {
                fields([("agent_id", json!(agent_id)), ("agent_type", json!(agent_type))])
            }
            Self::PreCompact { trigger, wish } => {
                fields([("trigger", json!(trigger)), ("custom_instructions", json!(wish))])
            }
            Self::PostCompact { trigger, summary } => {
                fields([("trigger", json!(trigger)), ("compact_summary", json!(summary))])
            }
            Self::PostModelSwitch(ModelSwitch { from, to }) => fields([
                ("from_model", json!(from)),
                ("to_model", json!(to)),
                ("requested_model", json!(to)),
                ("source", json!("auto")),
            ]),
        }
    }
}

fn call(name: String, input: Value, tool_use_id: Option<String>) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("tool_name".into(), Value::String(name));
    map.insert("tool_input".into(), input);
    map.extend(tool_use_id.map(|id| ("tool_use_id".to_owned(), Value::String(id))));
    map
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    with(Map::new(), pairs)
}

fn with<const N: usize>(mut map: Map<String, Value>, pairs: [(&str, Value); N]) -> Map<String, Value> {
    map.extend(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)));
    map
}

#[cfg(test)]
#[path = "hook_tests.rs"]
mod tests;
