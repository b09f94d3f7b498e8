//! Monitor: a command in the background whose lines are told to the model as they come, or a web socket whose messages are
//! (`socket_watch`).
//!
//! A task like other background commands: it is listed, looked at and stopped like them, and it ends with the session.
//! Deliberately absent: whether the command may run, which rules judge as they judge Bash.

use super::socket_watch;
use crate::ToolOutcome;
use crate::bounded::{first_chars, last_chars};
use crate::context::ToolContext;
use crate::schema::{InputError, parse};
use crate::shell::running::{Command, End};
use crate::tasks::{Ending, NewTask, Running, Status};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use crate::workspace::Workspace;
use policy::{Targets, names};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use web::address;

static SPEC: ToolSpec = ToolSpec::alone(
    &names::MONITOR,
    "Watches something with a command in the background: every line that it prints begins a turn of yours, its end does too. For logs, builds and \
     queues that you would otherwise look at again and again. Print only lines that matter (grep --line-buffered); stop it with TaskStop. \
     For a server that pushes messages over a WebSocket give ws instead of command: each message is an event.",
    r#"{"type":"object","properties":{"command":{"type":"string","description":"The command line; each line of its output is an event"},"description":{"type":"string","description":"What is watched, in a few words"},"timeout_ms":{"type":"number","description":"Milliseconds until it is ended; 300000 if left out, 3600000 at most"},"persistent":{"type":"boolean","description":"As long as the session lives"},"ws":{"type":"object","description":"A web socket to listen to","properties":{"url":{"type":"string","description":"ws:// or wss://, a public address"},"protocols":{"type":"array","description":"Subprotocols to offer","items":{"type":"string"}}},"required":["url"],"additionalProperties":false}},"required":["description"],"additionalProperties":false}"#,
);

const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
const LONGEST_TIMEOUT: Duration = Duration::from_hours(1);
/// Lines that come within this are one event.
const GATHER: Duration = Duration::from_millis(200);
/// Characters of one event; a line that is longer is cut.
pub(super) const EVENT_CHARS: usize = 2_000;
/// Each event is a paid turn. A command that says more is not one to be woken by.
pub(super) const EVENTS_MAX: usize = 100;
/// Bytes that are read of the output at a time.
const READ_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
pub(super) struct Input {
    command: Option<String>,
    pub(super) ws: Option<SocketInput>,
    description: String,
    timeout_ms: Option<f64>,
    #[serde(default)]
    persistent: bool,
}

#[derive(Deserialize)]
pub(super) struct SocketInput {
    pub(super) url: String,
    #[serde(default)]
    pub(super) protocols: Vec<String>,
}

pub(crate) struct Monitor;

impl Tool for Monitor {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn check(&self, input: &Value) -> Result<(), InputError> {
        let missing = InputError::Missing { tool: SPEC.entry.name, field: "command" };
        match (input["command"].as_str(), input.get("ws")) {
            (Some(_), Some(_)) => Err(unusable("give `command` or `ws`, not both")),
            (None, Some(ws)) => socket_watch::check(ws).map_err(unusable),
            (Some(command), None) if !command.trim().is_empty() => Ok(()),
            (_, None) => Err(missing),
        }
    }

    /// A command is judged as a command, a web socket by its host.
    fn targets(&self, input: &Value, _workspace: &Workspace) -> Result<Targets, InputError> {
        let url = input["ws"]["url"].as_str().map(address::page_of_socket);
        Ok(Targets { url, ..Targets::of(SPEC.entry, input) })
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = parse(SPEC.entry.name, call.input)?;
    if !context.shell.background_allowed {
        return Err(ToolOutcome::error("Background tasks are switched off, so nothing can be watched."));
    }
    context.tasks.room().map_err(unwatched)?;
    match (&input.command, &input.ws) {
        (Some(command), _) => watch_command(&call, command, &input, context),
        (None, Some(ws)) => {
            let opened = socket_watch::open(ws, context).await.map_err(unwatched)?;
            let watched = begin(&call, &input, context, opened.output.path(), (&opened.output.id(), "monitor", None))?;
            tokio::spawn(opened.watch(watched.running, watched.description, watched.until));
            Ok(watched.outcome)
        }
        (None, None) => Err(InputError::Missing { tool: SPEC.entry.name, field: "command" }.into()),
    }
}

fn unusable(reason: &str) -> InputError {
    InputError::Fields { tool: SPEC.entry.name, reason: reason.to_owned() }
}

fn unwatched(why: impl Display) -> ToolOutcome {
    ToolOutcome::error(format!("Nothing is watched: {why}."))
}

fn watch_command(
    call: &Invocation<'_>,
    typed: &str,
    input: &Input,
    context: &ToolContext,
) -> Result<ToolOutcome, ToolOutcome> {
    let judged = call.run.unwrap_or(typed);
    let started = Command::start(&context.shell, &context.workspace.cwd(), judged, None, false);
    let mut command = started.map_err(unwatched)?;
    let named = (command.output.id(), "local_bash", Some(typed));
    let watched = begin(call, input, context, command.output.path(), (&named.0, named.1, named.2))?;
    command.output.keep();
    tokio::spawn(watch(command, watched.running, watched.description, watched.until));
    Ok(watched.outcome)
}

/// A task that has begun, and what its call answers.
struct Watched {
    running: Running,
    description: String,
    until: Option<Instant>,
    outcome: ToolOutcome,
}

fn begin(
    call: &Invocation<'_>,
    input: &Input,
    context: &ToolContext,
    output: &Path,
    (id, kind, command): (&str, &'static str, Option<&str>),
) -> Result<Watched, ToolOutcome> {
    let description = first_chars(&input.description, EVENT_CHARS).to_owned();
    let new = NewTask {
        id: id.to_owned(),
        kind,
        description: description.clone(),
        command: command.map(str::to_owned),
        tool_use_id: call.tool_use_id.to_owned(),
        output_file: output.to_path_buf(),
        is_awaited: false,
    };
    let running = context.tasks.begin(new).map_err(unwatched)?;
    let limit = limit(input.timeout_ms);
    let until = (!input.persistent).then(|| Instant::now() + limit);
    let timeout_ms = if input.persistent { Value::Null } else { json!(limit.as_millis() as u64) };
    let structured = json!({"taskId": id, "timeoutMs": timeout_ms, "persistent": input.persistent});
    let words = format!("The monitor {id} has started. You are told of its lines as they come.");
    Ok(Watched { running, description, until, outcome: ToolOutcome::text(words, structured) })
}

fn limit(asked: Option<f64>) -> Duration {
    let asked = asked.filter(|ms| ms.is_finite() && *ms >= 1.0);
    asked.map_or(DEFAULT_TIMEOUT, |ms| Duration::from_millis(ms as u64).min(LONGEST_TIMEOUT))
}

async fn watch(mut command: Command, running: Running, description: String, until: Option<Instant>) {
    let mut lines = Lines::default();
    let mut events = 0;
    let (status, code, how) = loop {
        let end = tokio::select! {
            end = command.finish_within(Some(GATHER)) => end,
            () = running.stop_requested() => break stopped(&mut command, Status::Stopped, "was stopped").await,
            () = at(until) => break stopped(&mut command, Status::Completed, "was ended after its time").await,
        };
        let is_over = !matches!(end, End::TimedOut);
        if let Some(text) = lines.read(&command, is_over) {
            events += 1;
            running.say(text);
        }
        match end {
            End::TimedOut if events >= EVENTS_MAX => {
                let how = "was ended: it said more than anybody can be woken by";
                break stopped(&mut command, Status::Failed, how).await;
            }
            End::TimedOut => {}
            End::Exited(exit) if exit.success() => {
                break (Status::Completed, Some(0), "finished (exit code 0)".to_owned());
            }
            End::Exited(exit) => {
                let code = exit.shell_code();
                break (Status::Failed, Some(code), format!("failed with exit code {code}"));
            }
            End::Flooded(_) => break (Status::Failed, None, "was ended: it wrote too much".to_owned()),
        }
    };
    command.output.cut();
    running.finish(Ending { status, exit_code: code, summary: format!("Monitor \"{description}\" {how}") });
}

async fn stopped(command: &mut Command, status: Status, how: &str) -> (Status, Option<i32>, String) {
    (status, Some(command.stop().await.shell_code()), how.to_owned())
}

pub(super) async fn at(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// What was read of an output, up to its last whole line.
#[derive(Default)]
struct Lines {
    at: u64,
}

impl Lines {
    /// The lines that are new, as one event.
    fn read(&mut self, command: &Command, is_over: bool) -> Option<String> {
        let mut text = String::new();
        loop {
            let bytes = command.output.read_from(self.at, READ_BYTES);
            let whole = if is_over {
                bytes.len()
            } else {
                bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
            };
            // A line that fills the whole piece has no end to wait for.
            let whole = if whole == 0 && bytes.len() == READ_BYTES { bytes.len() } else { whole };
            self.at += whole as u64;
            text.push_str(&String::from_utf8_lossy(&bytes[..whole]));
            if text.len() > EVENT_CHARS * 4 {
                text = last_chars(&text, EVENT_CHARS).to_owned();
            }
            if bytes.len() < READ_BYTES || whole == 0 {
                break;
            }
        }
        let text = last_chars(text.trim_end(), EVENT_CHARS).to_owned();
        (!text.trim().is_empty()).then_some(text)
    }
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod tests;
