//! `/v1/acp…`: the requests.

use super::server::{AcpServer, NotSent};
use crate::agents;
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::sse;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

type Shared = State<Arc<App>>;

/// A turn can take hours; a client that waits longer reads the stream.
const ANSWER_TIME: Duration = Duration::from_hours(6);
/// Clients open the stream at the same time as they send the first message: the stream waits for it.
const FIRST_MESSAGE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);
/// Of a name that a client chooses.
const ID_MAX: usize = 200;

#[derive(Deserialize)]
struct PostQuery {
    agent: Option<String>,
}

pub async fn list(State(app): Shared) -> Json<Value> {
    let all = app.acp.all();
    let servers =
        all.values().map(|server| json!({"serverId": server.id, "agent": server.agent, "createdAtMs": server.created}));
    Json(json!({"servers": servers.collect::<Vec<Value>>()}))
}

pub async fn post(
    State(app): Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let PostQuery { agent } = request::query(&uri)?;
    if !request::is_json(&headers) {
        let detail = "the Content-Type must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let message: Value = request::json(&headers, body).await?;
    if !message.is_object() {
        return Err(Problem::invalid("the body must be one JSON-RPC object"));
    }
    confine(&app, &message)?;
    let server = start_agent(&app, &id, agent.as_deref())?;
    let answered = server.send(&message).map_err(|error| not_sent(&id, &error))?;
    let Some(answered) = answered else { return Ok(StatusCode::ACCEPTED.into_response()) };
    let waiting = Waiting { server: &server, message: &message };
    match tokio::time::timeout(ANSWER_TIME, answered).await {
        Ok(Ok(answer)) => Ok(Json(answer).into_response()),
        Ok(Err(_)) => Err(exited(&id, "")),
        Err(_) => {
            drop(waiting);
            Err(Problem::timeout("the agent has not answered; its answer will be on the stream"))
        }
    }
}

/// Forgets who waits when the client leaves, so that its request can be sent again.
struct Waiting<'a> {
    server: &'a AcpServer,
    message: &'a Value,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.server.forget(self.message);
    }
}

pub(super) fn not_sent(id: &str, error: &NotSent) -> Problem {
    match error {
        NotSent::Over(words) => exited(id, words),
        NotSent::Busy => Problem::unavailable("the agent does not read its input; try again"),
        NotSent::Twice => Problem::conflict("a request with this id is not answered yet"),
    }
}

fn exited(id: &str, words: &str) -> Problem {
    let why = if words.is_empty() { String::new() } else { format!(": {words}") };
    let detail = format!("the agent of server {id} has ended{why}; DELETE the server and start another one");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "agent_process_exited", detail)
}

/// The agent of this server, started where it is not there yet.
pub(super) fn start_agent(app: &App, id: &str, agent: Option<&str>) -> Result<Arc<AcpServer>, Problem> {
    if id.is_empty() || id.len() > ID_MAX {
        return Err(Problem::invalid(format!("a server's name has 1 to {ID_MAX} bytes")));
    }
    let server = app.acp.find_or_add(id, || {
        let agent = agent.ok_or_else(|| Problem::invalid("the first message to a server needs '?agent=NAME'"))?;
        let (spec, sandbox) = agents::command(app, agent)?;
        AcpServer::start(id, agent, spec, sandbox)
            .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "agent_process_exited", error.to_string()))
    })?;
    match agent {
        Some(agent) if agent != server.agent => {
            Err(Problem::conflict(format!("server {id} runs {}, not {agent}", server.agent)))
        }
        _ => Ok(server),
    }
}

/// A session may be for a served folder only.
pub(super) fn confine(app: &App, message: &Value) -> Result<(), Problem> {
    let params = &message["params"];
    let more = params["additionalDirectories"].as_array();
    let folders = params["cwd"].as_str().into_iter().chain(more.into_iter().flatten().filter_map(Value::as_str));
    for folder in folders {
        app.folders.place_folder(Some(folder))?;
    }
    Ok(())
}

pub async fn stream(State(app): Shared, Path(id): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    if !sse::is_accepted(&headers) {
        return Err(sse::not_acceptable());
    }
    let waiting = async {
        loop {
            if let Some(server) = app.acp.find(&id) {
                return server;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let found = tokio::time::timeout(FIRST_MESSAGE, waiting).await;
    let server = found.map_err(|_| Problem::not_found(format!("there is no ACP server {id}")))?;
    stream_messages(&app, &headers, server, |_, _| true)
}

/// The messages of a server as events, from the one after `Last-Event-ID`, as far as `is_wanted` agrees.
pub(super) fn stream_messages(
    app: &App,
    headers: &HeaderMap,
    server: Arc<AcpServer>,
    is_wanted: impl Fn(&AcpServer, &str) -> bool + Send + 'static,
) -> Result<Response, Problem> {
    let mut after = sse::last_event_id(headers).unwrap_or(0);
    let place = app.stream_place()?;
    Ok(sse::stream(place, app.closing.clone(), |sender| async move {
        let mut changed = server.watch();
        loop {
            let (messages, goes_on) = server.after(after);
            for (number, message) in messages {
                after = number;
                if is_wanted(&server, &message) {
                    sender.send(sse::event("message", &number.to_string(), &message)).await?;
                }
            }
            if !goes_on || changed.changed().await.is_err() {
                return Ok(());
            }
        }
    }))
}

pub async fn remove(State(app): Shared, Path(id): Path<String>) -> StatusCode {
    // Taken before its end is awaited: the name is free at once.
    let server = app.acp.take(&id);
    if let Some(server) = server {
        server.end().await;
    }
    StatusCode::NO_CONTENT
}
