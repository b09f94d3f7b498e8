//! The words of hooks, until the module that runs them is in place.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    UserPromptSubmit,
    SessionStart,
    SessionEnd,
    Stop,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    Notification,
    PermissionRequest,
    Setup,
}
impl HookEvent {
    pub fn as_str(self) -> &'static str {
        ""
    }
}
#[derive(Debug, Clone, Default)]
pub struct Hooks;
impl Hooks {
    pub fn from_settings(_: &Value, _: &str) -> (Self, Vec<String>) {
        (Self, Vec::new())
    }
    pub fn set_callbacks(&mut self, _: &Value) {}
    pub fn wants(&self, _: HookEvent) -> bool {
        false
    }
}
pub struct Scene<'a> {
    pub session_id: &'a str,
    pub transcript_path: &'a str,
    pub cwd: &'a Path,
    pub permission_mode: &'a str,
    pub agent_id: Option<&'a str>,
    pub agent_type: Option<&'a str>,
    pub effort: Option<&'a str>,
    pub prompt_id: Option<&'a str>,
}
pub trait Callbacks {
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, String>>;
}
pub enum HookNews {
    Started {
        hook_id: String,
        name: String,
        event: HookEvent,
    },
    Response {
        hook_id: String,
        name: String,
        event: HookEvent,
        stdout: String,
        stderr: String,
        output: String,
        exit_code: Option<i32>,
        outcome: &'static str,
    },
}
pub struct World<'a> {
    pub env: &'a proc::Env,
    pub project_dir: &'a Path,
    pub callbacks: Option<&'a dyn Callbacks>,
    pub http: &'a dyn Fn() -> Result<reqwest::Client, String>,
    pub observe: &'a dyn Fn(HookNews),
    pub spill_dir: &'a Path,
    pub ids: &'a dyn Fn() -> String,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Ask,
    Defer,
    Deny,
}
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    pub blocked: Option<String>,
    pub decision: Option<Decision>,
    pub reason: Option<String>,
    pub updated_input: Option<Value>,
    pub contexts: Vec<String>,
    pub messages: Vec<String>,
    pub stop: Option<String>,
    pub updated_output: Option<Value>,
    pub permission: Option<Value>,
}
pub async fn fire(
    _: &Hooks,
    _: HookEvent,
    _: Option<&str>,
    _: Map<String, Value>,
    _: Option<&str>,
    _: &Scene<'_>,
    _: &World<'_>,
) -> Verdict {
    Verdict::default()
}
