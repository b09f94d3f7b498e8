//! `/v1/agents`: which agents can be spoken with over ACP, and how each is started.

use crate::app::App;
use crate::problem::Problem;
use crate::time::now_ms;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use process::{Output, Spec, Stdin};
use sandbox::Sandbox;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// Other agents that speak ACP: name, program, arguments.
const OTHERS: [(&str, &str, &[&str]); 5] = [
    ("codex", "codex-acp", &[]),
    ("gemini", "gemini", &["--acp"]),
    ("opencode", "opencode", &["acp"]),
    ("goose", "goose", &["acp"]),
    ("claude-acp", "claude-agent-acp", &[]),
];

/// Ours, under both its names.
const OURS: [&str; 2] = ["ralph", "claude"];

/// What to start for an agent. Others than ours run in the sandbox, and only where clients may run commands at all.
pub fn command(app: &App, agent: &str) -> Result<(Spec, Option<Arc<Sandbox>>), Problem> {
    let (at, cwd) = app.folders.place_folder(None)?;
    let spec = |program: PathBuf, args: &[&str]| Spec {
        program: program.into_os_string(),
        args: args.iter().map(Into::into).collect(),
        cwd: cwd.clone(),
        env: app.env.clone(),
        stdin: Stdin::Pipe,
        output: Output::Pipes,
        arg0: None,
    };
    if OURS.contains(&agent) {
        return Ok((spec(app.exe.clone(), &["acp"]), None));
    }
    let unknown = || Problem::new(StatusCode::BAD_REQUEST, "unsupported_agent", format!("there is no agent '{agent}'"));
    let (_, program, args) = OTHERS.iter().find(|(name, ..)| *name == agent).ok_or_else(unknown)?;
    let processes = app.processes.as_ref().ok_or_else(|| {
        Problem::denied(format!(
            "'{agent}' is a program of somebody else; start the server with '--allow-exec' to allow it"
        ))
    })?;
    let missing = || Problem::new(StatusCode::BAD_REQUEST, "agent_not_installed", format!("{program} is not on PATH"));
    let found = find(app, program).ok_or_else(missing)?;
    Ok((spec(found, args), Some(processes.sandbox(at)?)))
}

fn find(app: &App, program: &str) -> Option<PathBuf> {
    let path = app.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value)?;
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|program| program.is_file())
}

fn has_credential(app: &App) -> bool {
    let named = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("ANTHROPIC_");
    app.env.iter().any(|(name, value)| named(name) && !value.is_empty())
}

fn described(app: &App, id: &str, path: Option<PathBuf>, version: Option<&str>) -> Value {
    let since = app.acp.since(id);
    let server = since.map(|since| json!({"status": "running", "uptimeMs": now_ms().saturating_sub(since)}));
    let is_ours = version.is_some();
    json!({
        "id": id,
        "installed": path.is_some(),
        "credentialsAvailable": is_ours && has_credential(app),
        "path": path.map(|path| path.display().to_string()),
        "version": version,
        "serverStatus": server,
        "capabilities": {
            "commandExecution": true, "errorEvents": true, "fileAttachments": is_ours, "fileChanges": true,
            "images": is_ours, "itemStarted": true, "mcpTools": true, "permissions": true, "planMode": is_ours,
            "questions": is_ours, "reasoning": true, "sessionLifecycle": true, "sharedProcess": false, "status": true,
            "streamingDeltas": true, "textMessages": true, "toolCalls": true, "toolResults": true,
        },
    })
}

fn all(app: &App) -> Vec<Value> {
    let ours = OURS.iter().map(|id| described(app, id, Some(app.exe.clone()), Some(app.version)));
    let others = OTHERS.iter().map(|(id, program, _)| described(app, id, find(app, program), None));
    ours.chain(others).collect()
}

pub async fn list(State(app): Shared) -> Json<Value> {
    Json(json!({"agents": all(&app)}))
}

pub async fn one(State(app): Shared, Path(agent): Path<String>) -> Result<Json<Value>, Problem> {
    let found = all(&app).into_iter().find(|info| info["id"] == agent.as_str());
    found.map(Json).ok_or_else(|| {
        Problem::new(StatusCode::BAD_REQUEST, "unsupported_agent", format!("there is no agent '{agent}'"))
    })
}

pub async fn install(Path(agent): Path<String>) -> Problem {
    Problem::not_implemented(format!("this server installs nothing; install '{agent}' yourself"))
}
