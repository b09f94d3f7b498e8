//! `/v1/processes…`: the requests.

use super::running::{LogEntry, Order, Process};
use super::{ProcessConfig, Processes};
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::sse;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use process::{CaptureLimits, Output, Spec, Stdin, TerminalSize};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Shared = State<Arc<App>>;

/// Between asking a process to end and killing it.
const GRACE: Duration = Duration::from_secs(5);
/// A request waits no longer for a process to end.
const WAIT_MAX: Duration = Duration::from_secs(30);

fn allowed(app: &App) -> Result<&Processes, Problem> {
    app.processes.as_ref().ok_or_else(|| {
        Problem::denied("this server starts no processes for clients; start it with '--allow-exec' to allow that")
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandBody {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    cwd: Option<String>,
    env: Option<BTreeMap<String, String>>,
    timeout_ms: Option<u64>,
    max_output_bytes: Option<usize>,
    #[serde(default)]
    tty: bool,
    #[serde(default)]
    interactive: bool,
}

/// What to start, and in which served folder.
fn spec(app: &App, body: &CommandBody) -> Result<(Spec, usize), Problem> {
    let words = std::iter::once(&body.command).chain(&body.args);
    if body.command.is_empty() || words.clone().any(|word| word.contains('\0')) {
        return Err(Problem::invalid("a command is a name and arguments without NUL bytes"));
    }
    let (at, cwd) = app.folders.place_folder(body.cwd.as_deref())?;
    let mut env = app.env.clone();
    process::scrub::credentials_but(&mut env, &[]);
    for (name, value) in body.env.iter().flatten() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Problem::invalid(format!("'{name}' is no name of a variable")));
        }
        env.retain(|(known, _)| known != name.as_str());
        env.push((name.into(), value.into()));
    }
    let spec = Spec {
        program: body.command.clone().into(),
        args: body.args.iter().map(Into::into).collect(),
        cwd,
        env,
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    };
    Ok((spec, at))
}

/// The proxy of the sandbox, where it has one.
fn with_proxy(mut spec: Spec, sandbox: &sandbox::Sandbox) -> Spec {
    spec.env.extend(sandbox.proxy_env());
    spec
}

pub async fn read_config(State(app): Shared) -> Result<Json<ProcessConfig>, Problem> {
    Ok(Json(allowed(&app)?.config()))
}

pub async fn put_config(State(app): Shared, headers: HeaderMap, body: Body) -> Result<Json<ProcessConfig>, Problem> {
    let processes = allowed(&app)?;
    let config = request::json::<ProcessConfig>(&headers, body).await?.bounded();
    processes.state().config = config;
    Ok(Json(config))
}

pub async fn run(State(app): Shared, headers: HeaderMap, body: Body) -> Result<Json<Value>, Problem> {
    let processes = allowed(&app)?;
    let body: CommandBody = request::json(&headers, body).await?;
    let config = processes.config();
    let deadline = body.timeout_ms.unwrap_or(config.default_run_timeout_ms).min(config.max_run_timeout_ms);
    let max_output = body.max_output_bytes.unwrap_or(config.max_output_bytes).min(config.max_output_bytes);
    let (spec, at) = spec(&app, &body)?;
    let sandbox = processes.sandbox(at)?;
    let limits =
        CaptureLimits { deadline: Duration::from_millis(deadline), max_output, grace: Duration::from_millis(200) };
    let started = Instant::now();
    let done = process::capture_inside(with_proxy(spec, &sandbox), limits, &*sandbox).await;
    let done = done.map_err(|error| Problem::invalid(error.to_string()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Json(json!({
        "exitCode": if done.timed_out { None } else { Some(done.exit.shell_code()) },
        "timedOut": done.timed_out,
        "stdout": text(&done.stdout),
        "stderr": text(&done.stderr),
        "stdoutTruncated": done.truncated && done.stdout.len() >= max_output,
        "stderrTruncated": done.truncated && done.stderr.len() >= max_output,
        "durationMs": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })))
}

pub async fn start(State(app): Shared, headers: HeaderMap, body: Body) -> Result<Json<Value>, Problem> {
    let processes = allowed(&app)?;
    let body: CommandBody = request::json(&headers, body).await?;
    let (mut spec, at) = spec(&app, &body)?;
    let sandbox = processes.sandbox(at)?;
    if body.tty && !spec.env.iter().any(|(name, _)| name == "TERM") {
        spec.env.push(("TERM".into(), "xterm-256color".into()));
    }
    let number = processes.reserve()?;
    let spec = with_proxy(spec, &sandbox);
    let interactive = body.interactive || body.tty;
    let started = Process::start(number, spec, interactive, body.tty, &sandbox, processes.config());
    let process = started.map_err(|error| Problem::invalid(error.to_string()))?;
    processes.add(number, process.clone());
    Ok(Json(process.json()))
}

pub async fn list(State(app): Shared) -> Result<Json<Value>, Problem> {
    let all: Vec<Value> = allowed(&app)?.all().iter().map(|process| process.json()).collect();
    Ok(Json(json!({"processes": all})))
}

pub async fn one(State(app): Shared, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    Ok(Json(allowed(&app)?.find(&id)?.json()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StopQuery {
    wait_ms: Option<u64>,
}

pub async fn stop(State(app): Shared, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>, Problem> {
    end(&app, &id, &uri, GRACE).await
}

pub async fn kill(State(app): Shared, Path(id): Path<String>, uri: Uri) -> Result<Json<Value>, Problem> {
    end(&app, &id, &uri, Duration::ZERO).await
}

async fn end(app: &App, id: &str, uri: &Uri, grace: Duration) -> Result<Json<Value>, Problem> {
    let process = allowed(app)?.find(id)?;
    let StopQuery { wait_ms } = request::query(uri)?;
    if process.is_running() {
        let mut changed = process.watch();
        // One that has just ended takes no orders.
        let _ = process.order(Order::Stop(grace));
        let wait = wait_ms.map_or(grace + Duration::from_secs(1), Duration::from_millis).min(WAIT_MAX);
        let _ = tokio::time::timeout(wait, async { while process.is_running() && changed.changed().await.is_ok() {} })
            .await;
    }
    Ok(Json(process.json()))
}

pub async fn remove(State(app): Shared, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let processes = allowed(&app)?;
    if processes.find(&id)?.is_running() {
        return Err(Problem::conflict(format!("process {id} is running; stop it first")));
    }
    processes.forget(&id);
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct InputBody {
    data: String,
    encoding: Option<String>,
}

/// Text, or base64 of bytes.
pub(super) fn decoded(data: &str, encoding: Option<&str>) -> Result<Vec<u8>, Problem> {
    match encoding.unwrap_or("utf8") {
        "utf8" | "utf-8" => Ok(data.as_bytes().to_vec()),
        "base64" => BASE64_STANDARD.decode(data).map_err(|error| Problem::invalid(format!("no base64: {error}"))),
        other => Err(Problem::invalid(format!("'{other}' is no encoding; use utf8 or base64"))),
    }
}

pub async fn input(
    State(app): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let processes = allowed(&app)?;
    let process = processes.find(&id)?;
    let InputBody { data, encoding } = request::json(&headers, body).await?;
    let bytes = decoded(&data, encoding.as_deref())?;
    if bytes.len() > processes.config().max_input_bytes_per_request {
        return Err(Problem::too_large("so much input at once is not taken"));
    }
    if !process.interactive {
        return Err(Problem::conflict(format!("process {id} takes no input; start it with 'interactive' or 'tty'")));
    }
    let written = bytes.len();
    process.order(Order::Input(bytes)).map_err(|()| Problem::conflict(format!("process {id} takes no input now")))?;
    Ok(Json(json!({"bytesWritten": written})))
}

#[derive(Deserialize)]
struct ResizeBody {
    cols: u16,
    rows: u16,
}

pub async fn resize(
    State(app): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let process = allowed(&app)?.find(&id)?;
    let ResizeBody { cols, rows } = request::json(&headers, body).await?;
    if !process.tty {
        return Err(Problem::conflict(format!("process {id} has no terminal")));
    }
    let size = TerminalSize { cols: cols.max(1), rows: rows.max(1) };
    process.order(Order::Resize(size)).map_err(|()| Problem::conflict(format!("process {id} has ended")))?;
    Ok(Json(json!({"cols": size.cols, "rows": size.rows})))
}

#[derive(Deserialize)]
struct LogsQuery {
    stream: Option<String>,
    tail: Option<usize>,
    since: Option<u64>,
    #[serde(default)]
    follow: bool,
}

fn described(entry: &LogEntry) -> Value {
    json!({
        "sequence": entry.sequence,
        "stream": entry.stream,
        "timestampMs": entry.at,
        "data": BASE64_STANDARD.encode(&entry.data),
        "encoding": "base64",
    })
}

pub async fn logs(
    State(app): Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let process = allowed(&app)?.find(&id)?;
    let LogsQuery { stream, tail, since, follow } = request::query(&uri)?;
    let stream = stream.unwrap_or_else(|| if process.tty { "pty".into() } else { "combined".into() });
    if !matches!(stream.as_str(), "stdout" | "stderr" | "combined" | "pty") {
        return Err(Problem::invalid(format!("'{stream}' is no stream; use stdout, stderr, combined or pty")));
    }
    let mut after = sse::last_event_id(&headers).or(since).unwrap_or(0);
    let mut entries = process.after(after, &stream);
    if let Some(tail) = tail {
        entries.drain(..entries.len().saturating_sub(tail));
    }
    if !follow {
        let entries: Vec<Value> = entries.iter().map(described).collect();
        return Ok(Json(json!({"processId": id, "stream": stream, "entries": entries})).into_response());
    }
    let place = app.stream_place()?;
    Ok(sse::stream(place, app.closing.clone(), |outlet| async move {
        let mut changed = process.watch();
        loop {
            // Looked at before the output: what comes in between is read in the next round.
            let is_over = !process.is_running();
            for entry in &entries {
                after = entry.sequence;
                let data = described(entry).to_string();
                outlet.send(sse::event("log", &after.to_string(), &data)).await?;
            }
            if is_over || changed.changed().await.is_err() {
                return Ok(());
            }
            entries = process.after(after, &stream);
        }
    }))
}
