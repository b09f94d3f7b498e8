//! Commands to a run: through its socket while it works, or by starting it again when it has ended.

use super::start::start_detached;
use super::{Found, apart};
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::time::now_ms;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use runner::run_socket::{Client, FailureKind, Request, SocketError};
use runner::{Lock, LockError, RunsError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

type Shared = State<Arc<App>>;
type CommandResponse = Result<(StatusCode, Json<Value>), Problem>;

#[derive(Deserialize)]
struct TextBody {
    text: String,
    /// Whether an ended run goes on with its answer.
    resume: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopBody {
    #[serde(default)]
    now: bool,
}

fn accepted(app: &App, id: &str) -> (StatusCode, Json<Value>) {
    app.runs.look_again();
    (StatusCode::ACCEPTED, Json(json!({"run": id})))
}

async fn tell(found: &Found, request: &Request) -> Result<(), SocketError> {
    Client::connect(&found.folder, &found.id).await?.tell(request).await
}

fn problem(error: &SocketError) -> Problem {
    let detail = error.to_string();
    match error {
        SocketError::NotAtWork(_) => Problem::conflict(detail),
        SocketError::Failed(failure) => match failure.kind {
            FailureKind::Invalid => Problem::invalid(detail),
            FailureKind::TooLong => Problem::too_large(detail),
            FailureKind::NotAsking | FailureKind::Over => Problem::conflict(detail),
            FailureKind::NotTaken => Problem::timeout(detail),
            FailureKind::Busy => Problem::unavailable(detail),
            FailureKind::Refused | FailureKind::Unknown => {
                Problem::new(StatusCode::BAD_GATEWAY, "stream_error", detail)
            }
        },
        SocketError::Silent { .. } => Problem::timeout(detail),
        SocketError::Io { .. } | SocketError::Cut(_) | SocketError::Garbled { .. } => {
            Problem::new(StatusCode::BAD_GATEWAY, "stream_error", detail)
        }
    }
}

pub async fn answer(State(app): Shared, Path(id): Path<String>, headers: HeaderMap, body: Body) -> CommandResponse {
    let found = app.runs.find(&id)?;
    let TextBody { text, resume } = request::json(&headers, body).await?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("the answer is empty"));
    }
    match tell(&found, &Request::Answer { text: text.clone() }).await {
        Ok(()) => return Ok(accepted(&app, &id)),
        Err(SocketError::NotAtWork(_)) => {}
        Err(error) => return Err(problem(&error)),
    }
    let ended = found.clone();
    apart(move || answer_ended(&ended, &text)).await??;
    if resume.unwrap_or(true) {
        start_detached(&app, &found.folder, vec!["resume".into(), id.clone()]).await?;
    }
    Ok(accepted(&app, &id))
}

/// Puts the answer into the recording of a run that ended with its question.
fn answer_ended(found: &Found, text: &str) -> Result<(), Problem> {
    let _lock = Lock::take(&found.folder, "'ralph serve', for an answer").map_err(|error| match &error {
        LockError::Held { .. } => Problem::conflict(error.to_string()),
        LockError::Io { .. } => Problem::internal(error.to_string()),
    })?;
    let answered = runner::answer(&found.folder, &found.id, text, now_ms());
    answered.map(drop).map_err(|error| match &error {
        RunsError::NoQuestion(_) => Problem::conflict(error.to_string()),
        _ => Problem::internal(error.to_string()),
    })
}

pub async fn steer(State(app): Shared, Path(id): Path<String>, headers: HeaderMap, body: Body) -> CommandResponse {
    let found = app.runs.find(&id)?;
    let TextBody { text, .. } = request::json(&headers, body).await?;
    ordered(&app, &found, &Request::Steer { text }).await
}

async fn ordered(app: &App, found: &Found, request: &Request) -> CommandResponse {
    tell(found, request).await.map_err(|error| problem(&error))?;
    Ok(accepted(app, &found.id))
}

pub async fn pause(State(app): Shared, Path(id): Path<String>) -> CommandResponse {
    let found = app.runs.find(&id)?;
    ordered(&app, &found, &Request::Pause).await
}

/// Goes on after a pause; a run that has ended is started again.
pub async fn resume(State(app): Shared, Path(id): Path<String>) -> CommandResponse {
    let found = app.runs.find(&id)?;
    match tell(&found, &Request::Resume).await {
        Err(SocketError::NotAtWork(_)) => {}
        told => {
            told.map_err(|error| problem(&error))?;
            return Ok(accepted(&app, &id));
        }
    }
    start_detached(&app, &found.folder, vec!["resume".into(), id.clone()]).await?;
    Ok(accepted(&app, &id))
}

pub async fn stop(State(app): Shared, Path(id): Path<String>, headers: HeaderMap, body: Body) -> CommandResponse {
    let found = app.runs.find(&id)?;
    let StopBody { now } = request::json(&headers, body).await?;
    ordered(&app, &found, if now { &Request::StopNow } else { &Request::Stop }).await
}
