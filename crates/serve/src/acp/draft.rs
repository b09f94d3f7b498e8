//! `/acp`: the protocol's own draft for HTTP. `initialize` makes a connection and is answered at once; every other message is taken
//! with 202, and what the agent says comes on event streams, one for the connection and one for each session.
//!
//! A message belongs to the stream of the session that it names; an answer, to the stream that its request's headers named. What nobody
//! reads yet is kept with its number, and a stream begins with it.

use super::http::{confine, not_sent, start_agent, stream_messages};
use super::server::AcpServer;
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::sse;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

type Shared = State<Arc<App>>;

const CONNECTION: &str = "acp-connection-id";
const SESSION: &str = "acp-session-id";
/// The agent's name here; the draft has no way to choose one.
const AGENT: &str = "ralph";
/// For the answer to `initialize`.
const INITIALIZE_TIME: Duration = Duration::from_mins(1);

fn named<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
}

fn connection(app: &App, headers: &HeaderMap) -> Result<Arc<AcpServer>, Problem> {
    let id = named(headers, CONNECTION).ok_or_else(|| Problem::invalid("the header Acp-Connection-Id is missing"))?;
    app.acp.find(id).ok_or_else(|| Problem::not_found(format!("there is no connection {id}")))
}

pub async fn post(State(app): Shared, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    if !request::is_json(&headers) {
        let detail = "the Content-Type must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let message: Value = request::json(&headers, body).await?;
    if message.is_array() {
        return Err(Problem::not_implemented("batches are not taken; send one message at a time"));
    }
    if !message.is_object() {
        return Err(Problem::invalid("the body must be one JSON-RPC object"));
    }
    confine(&app, &message)?;
    if message["method"] == "initialize" && named(&headers, CONNECTION).is_none() {
        return initialize(&app, &message).await;
    }
    let server = connection(&app, &headers)?;
    server.send_for(&message, named(&headers, SESSION)).map_err(|error| not_sent(&server.id, &error))?;
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn initialize(app: &App, message: &Value) -> Result<Response, Problem> {
    let id = uuid::Uuid::new_v4().to_string();
    let server = start_agent(app, &id, Some(AGENT))?;
    let answered = server.ask(message).map_err(|error| not_sent(&id, &error))?;
    let answered = answered.ok_or_else(|| Problem::invalid("initialize is a request and needs an id"))?;
    let Ok(Ok(answer)) = tokio::time::timeout(INITIALIZE_TIME, answered).await else {
        if let Some(server) = app.acp.take(&id) {
            server.end().await;
        }
        return Err(Problem::timeout("the agent did not answer"));
    };
    let mut response = axum::Json(answer).into_response();
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(CONNECTION, value);
    }
    Ok(response)
}

pub async fn stream(State(app): Shared, headers: HeaderMap) -> Result<Response, Problem> {
    if !sse::is_accepted(&headers) {
        return Err(sse::not_acceptable());
    }
    let server = connection(&app, &headers)?;
    let session = named(&headers, SESSION).map(str::to_owned);
    stream_messages(&app, &headers, server, move |server, message| server.stream_of(message) == session)
}

pub async fn remove(State(app): Shared, headers: HeaderMap) -> Result<StatusCode, Problem> {
    let server = connection(&app, &headers)?;
    if let Some(server) = app.acp.take(&server.id) {
        server.end().await;
    }
    Ok(StatusCode::ACCEPTED)
}
