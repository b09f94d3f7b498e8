//! Every hook event: its name, what is special about it, and what its hooks are told.
//!
//! A new event is a row of the table and a payload here, and one call of [`crate::fire_hook`] where it happens.
//!
//! Named here but never happening: `MessageDisplay` (it changes what a screen shows, and there is none) and
//! `TeammateIdle` (there are no teams). Registering them is no error.

use crate::property::Property;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::path::Path;

macro_rules! events {
    ($($name:ident [$($property:ident),*]),* $(,)?) => {
        /// Every event that clients and settings may name. Some never happen here; naming one is no error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum HookEvent { $($name),* }

        impl HookEvent {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            pub(crate) fn properties(self) -> &'static [Property] {
                match self { $(Self::$name => &[$(Property::$property),*]),* }
            }
        }
    };
}

events! {
    PreToolUse [Tool, Blocks, Permits],
    PostToolUse [Tool, Tells],
    PostToolUseFailure [Tool, Tells],
    PostToolBatch [NoMatcher, Blocks],
    UserPromptSubmit [NoMatcher, Blocks, PlainText, PromptTimeout],
    UserPromptExpansion [Blocks, PlainText],
    SessionStart [PlainText, NoHttp, EnvFile, AlwaysShown],
    SessionEnd [NeverShown],
    Stop [NoMatcher, Blocks],
    StopFailure [],
    SubagentStart [],
    SubagentStop [Blocks],
    PreCompact [Blocks, NeverShown],
    PostCompact [NeverShown],
    Notification [NeverShown],
    PermissionRequest [Tool, Judged],
    PermissionDenied [Tool],
    Setup [NoHttp, EnvFile, AlwaysShown],
    PreModelSwitch [Blocks, Permits],
    PostModelSwitch [],
    TeammateIdle [NoMatcher, Blocks],
    TaskCreated [NoMatcher, Blocks],
    TaskCompleted [NoMatcher, Blocks],
    Elicitation [Blocks],
    ElicitationResult [Blocks],
    ConfigChange [Blocks],
    WorktreeCreate [NoMatcher, Blocks],
    WorktreeRemove [NoMatcher],
    InstructionsLoaded [],
    CwdChanged [NoMatcher, EnvFile],
    FileChanged [EnvFile],
    DirectoryAdded [],
    MessageDisplay [NoMatcher, DisplayTimeout],
}

/// What the hooks of one event are told.
pub trait HookPayload {
    fn event(&self) -> HookEvent;

    /// What matchers are compared with.
    fn subject(&self) -> Option<&str> {
        None
    }

    /// The tool call that it is about.
    fn tool_use_id(&self) -> Option<&str> {
        None
    }

    /// The event's own part of the input.
    fn fields(&self) -> Map<String, Value>;
}

/// `Name matched by field, call id in field { fields }`; the fields are written in this order.
macro_rules! payload {
    (
        $(#[$meta:meta])*
        $name:ident $(matches $subject:ident)? $(call $id:ident)? {
            $( $(#[$attribute:meta])* $field:ident : $ty:ty ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Serialize)]
        pub struct $name<'a> { $( $(#[$attribute])* pub $field: $ty, )+ }

        impl HookPayload for $name<'_> {
            fn event(&self) -> HookEvent {
                HookEvent::$name
            }

            $(fn subject(&self) -> Option<&str> {
                Some(&self.$subject)
            })?

            $(fn tool_use_id(&self) -> Option<&str> {
                Some(self.$id)
            })?

            fn fields(&self) -> Map<String, Value> {
                fields_of(self)
            }
        }
    };
}

/// Strings, numbers, lists and string-keyed maps only, so this cannot fail.
fn fields_of(payload: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(payload) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A path that is no text is told as well as text can.
fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

payload! {
    PreToolUse matches tool_name call tool_use_id {
        tool_name: &'a str,
        tool_input: &'a Value,
        tool_use_id: &'a str,
    }
}

payload! {
    PostToolUse matches tool_name call tool_use_id {
        tool_name: &'a str,
        tool_input: &'a Value,
        tool_use_id: &'a str,
        duration_ms: u64,
        tool_response: Value,
    }
}

payload! {
    PostToolUseFailure matches tool_name call tool_use_id {
        tool_name: &'a str,
        tool_input: &'a Value,
        tool_use_id: &'a str,
        duration_ms: u64,
        error: Value,
        is_interrupt: bool,
    }
}

payload! {
    PostToolBatch {
        tool_calls: Vec<BatchCall<'a>>,
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct BatchCall<'a> {
    pub tool_name: &'a str,
    pub tool_input: &'a Value,
    pub tool_use_id: &'a str,
    pub tool_response: &'a Value,
}

payload! {
    UserPromptSubmit {
        prompt: &'a str,
    }
}

payload! {
    UserPromptExpansion matches command_name {
        /// `slash_command` or `mcp_prompt`.
        expansion_type: &'a str,
        command_name: &'a str,
        command_args: &'a str,
        command_source: &'a str,
        prompt: &'a str,
    }
}

payload! {
    SessionStart matches source {
        source: &'a str,
        model: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_type: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_title: Option<&'a str>,
    }
}

payload! {
    SessionEnd matches reason {
        reason: &'a str,
    }
}

payload! {
    Stop {
        stop_hook_active: bool,
        last_assistant_message: &'a str,
        background_tasks: &'a [BackgroundTask],
        /// There are none.
        session_crons: &'a [Value],
    }
}

/// A background task that still runs.
#[derive(Debug, Clone, Serialize)]
pub struct BackgroundTask {
    pub id: String,
    /// `subagent` or `shell`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub status: &'static str,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

payload! {
    SubagentStop matches agent_type {
        stop_hook_active: bool,
        last_assistant_message: &'a str,
        background_tasks: &'a [BackgroundTask],
        session_crons: &'a [Value],
        agent_id: &'a str,
        agent_type: &'a str,
        agent_transcript_path: &'a str,
    }
}

payload! {
    StopFailure matches error {
        error: &'a str,
        error_details: &'a str,
        last_assistant_message: &'a str,
    }
}

payload! {
    SubagentStart matches agent_type {
        agent_id: &'a str,
        agent_type: &'a str,
    }
}

payload! {
    PreCompact matches trigger {
        trigger: &'a str,
        custom_instructions: Option<&'a str>,
    }
}

payload! {
    PostCompact matches trigger {
        trigger: &'a str,
        compact_summary: &'a str,
    }
}

payload! {
    Notification matches notification_type {
        message: &'a str,
        notification_type: &'a str,
    }
}

payload! {
    PermissionRequest matches tool_name call tool_use_id {
        tool_name: &'a str,
        tool_input: &'a Value,
        permission_suggestions: &'a [Value],
        #[serde(skip)]
        tool_use_id: &'a str,
    }
}

payload! {
    PermissionDenied matches tool_name call tool_use_id {
        tool_name: &'a str,
        tool_input: &'a Value,
        tool_use_id: &'a str,
        reason: &'a str,
    }
}

payload! {
    Setup matches trigger {
        trigger: &'a str,
    }
}

/// What both model-switch events tell.
#[derive(Debug, Clone, Serialize)]
pub struct ModelSwitch {
    pub from_model: String,
    pub to_model: String,
    pub requested_model: Option<String>,
    pub source: &'static str,
    pub context_tokens: u64,
    pub prompt_cache_warm: bool,
    pub cache_ttl: &'static str,
    pub estimated_cache_write_usd: f64,
    pub pricing: &'static str,
}

payload! {
    PreModelSwitch matches to_model {
        #[serde(skip)]
        to_model: &'a str,
        #[serde(flatten)]
        switch: &'a ModelSwitch,
    }
}

payload! {
    PostModelSwitch matches to_model {
        #[serde(skip)]
        to_model: &'a str,
        #[serde(flatten)]
        switch: &'a ModelSwitch,
    }
}

payload! {
    TaskCreated {
        task_id: &'a str,
        task_subject: &'a str,
        task_description: &'a str,
    }
}

payload! {
    TaskCompleted {
        task_id: &'a str,
        task_subject: &'a str,
        task_description: &'a str,
    }
}

payload! {
    Elicitation matches mcp_server_name {
        mcp_server_name: &'a str,
        #[serde(flatten)]
        question: Map<String, Value>,
    }
}

payload! {
    ElicitationResult matches mcp_server_name {
        mcp_server_name: &'a str,
        #[serde(flatten)]
        question: Map<String, Value>,
        action: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a Value>,
    }
}

payload! {
    ConfigChange matches source {
        source: &'a str,
        #[serde(serialize_with = "lossy")]
        file_path: &'a Path,
    }
}

payload! {
    WorktreeCreate {
        name: &'a str,
    }
}

payload! {
    WorktreeRemove {
        #[serde(serialize_with = "lossy")]
        worktree_path: &'a Path,
    }
}

payload! {
    InstructionsLoaded matches load_reason {
        file_path: &'a str,
        memory_type: &'a str,
        load_reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        globs: Option<&'a [String]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger_file_path: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_file_path: Option<String>,
    }
}

payload! {
    CwdChanged {
        #[serde(serialize_with = "lossy")]
        old_cwd: &'a Path,
        #[serde(serialize_with = "lossy")]
        new_cwd: &'a Path,
    }
}

payload! {
    FileChanged matches file_name {
        #[serde(skip)]
        file_name: &'a str,
        #[serde(serialize_with = "lossy")]
        file_path: &'a Path,
        /// `add`, `change` or `unlink`.
        event: &'a str,
    }
}

payload! {
    DirectoryAdded matches source {
        #[serde(serialize_with = "lossy")]
        directory: &'a Path,
        source: &'a str,
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
