//! What a hook is told of the conversation, and what it may reach outside this crate.

use crate::error::AskError;
use crate::event::HookEvent;
use crate::handler::Judge;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// The conversation when an event happens.
#[derive(Debug, Clone, Copy)]
pub struct HookContext<'a> {
    pub session_id: &'a str,
    pub transcript_path: &'a str,
    pub cwd: &'a Path,
    /// Left out where empty.
    pub permission_mode: &'a str,
    pub agent_id: Option<&'a str>,
    pub agent_type: Option<&'a str>,
    pub effort: Option<&'a str>,
    pub prompt_id: Option<&'a str>,
}

impl HookContext<'_> {
    /// The input of an event: what all have in common, then its own fields.
    pub(crate) fn input(&self, event: HookEvent, fields: Map<String, Value>) -> Value {
        let mut input = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                input.insert(key.into(), value);
            }
        };
        let mode = (!self.permission_mode.is_empty()).then(|| json!(self.permission_mode));
        put("session_id", Some(json!(self.session_id)));
        put("prompt_id", self.prompt_id.map(Value::from));
        put("transcript_path", Some(json!(self.transcript_path)));
        put("cwd", Some(json!(self.cwd.to_string_lossy())));
        put("permission_mode", mode);
        put("effort", self.effort.map(|level| json!({"level": level})));
        put("agent_id", self.agent_id.map(Value::from));
        put("agent_type", self.agent_type.map(Value::from));
        put("hook_event_name", Some(json!(event.as_str())));
        input.extend(fields);
        Value::Object(input)
    }
}

/// The client's own functions, reached over the control protocol.
pub trait Callbacks {
    /// Asks one. The future is dropped when `timeout` has passed or nobody needs the answer any more.
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, AskError>>;
}

/// What a model is asked, and how.
#[derive(Debug, Clone)]
pub struct Question {
    pub system: &'static str,
    pub words: String,
    /// The small one where none is named.
    pub model: Option<String>,
    pub who: Judge,
}

/// Help that some handlers need: a model's judgement, a server's tool.
pub trait Helpers {
    fn judge(&self, question: Question) -> LocalBoxFuture<'_, Result<String, AskError>>;

    /// Calls a tool of an MCP server; its answer as text.
    fn call_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> LocalBoxFuture<'a, Result<String, AskError>>;
}

/// Everything outside that hooks may reach.
#[derive(Clone, Copy)]
pub struct HookHost<'a> {
    /// What commands inherit; hooks' own variables are added, `OTEL_*` is taken out.
    pub env: &'a process::Env,
    pub project_dir: &'a Path,
    /// Where hooks of the first events may leave `export` lines for later shell commands.
    pub env_file: Option<&'a Path>,
    pub callbacks: Option<&'a dyn Callbacks>,
    /// Where there is none, hooks that ask a model do not run: an agent that answers for a hook asks no other.
    pub helpers: Option<&'a dyn Helpers>,
    /// Must not follow redirects: they would lead headers and answers to another host.
    pub http: &'a dyn Fn() -> Result<reqwest::Client, AskError>,
    pub observe: &'a dyn Fn(HookRun),
    /// The file system, for `if` rules that name files.
    pub disk: &'a dyn policy::Resolve,
    /// The name that a tool has now: matchers may use a former one.
    pub tool_name: fn(&str) -> &str,
    /// For texts too long for a conversation; made when needed.
    pub spill_dir: &'a Path,
    pub ids: &'a dyn Fn() -> String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Error,
    Cancelled,
}

impl Outcome {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The life of one run of one handler, for clients that asked for hook events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookRun {
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
        /// Both streams, one after the other.
        output: String,
        exit_code: Option<i32>,
        /// `success`, `error` or `cancelled`.
        outcome: &'static str,
    },
}
