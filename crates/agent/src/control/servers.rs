//! The `mcp_…` requests of a client.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use futures_util::FutureExt as _;
use mcp::{DYNAMIC, ServerError, SessionServers, Status};
use serde_json::{Value, json};
use std::rc::Rc;

pub struct ServerRequests {
    pub servers: Rc<SessionServers>,
}

#[derive(Debug, thiserror::Error)]
enum ServerRequestError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Server(#[from] ServerError),
    /// There are no servers at all.
    #[error("Server not found: {0}")]
    NotFound(String),
}

/// What talks to servers may take long, so all but the status are answered beside the client's next lines.
impl Group for ServerRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "mcp_status" => Reply::value(status(&self.servers)),
            "mcp_reconnect" => Reply::beside(async move { reconnect(&self.servers, &request).await }),
            "mcp_toggle" => Reply::beside(async move { toggle(&self.servers, &request) }),
            "mcp_set_servers" => Reply::Beside(async move { Ok(set(&self.servers, &request).await) }.boxed_local()),
            "mcp_message" => Reply::Beside(async move { Ok(deliver(&self.servers, &request)) }.boxed_local()),
            _ => return None,
        })
    }
}

async fn reconnect(session: &SessionServers, request: &Value) -> Result<Value, ServerRequestError> {
    let servers = session.started().ok_or_else(|| not_found(request))?;
    let reconnected = servers.reconnect(text(request, "serverName")?).await;
    session.note_change();
    reconnected?;
    Ok(json!({}))
}

fn toggle(session: &SessionServers, request: &Value) -> Result<Value, ServerRequestError> {
    let servers = session.started().ok_or_else(|| not_found(request))?;
    let toggled = servers.toggle(text(request, "serverName")?, request["enabled"] != false);
    session.note_change();
    toggled?;
    Ok(json!({}))
}

fn not_found(request: &Value) -> ServerRequestError {
    ServerRequestError::NotFound(request["serverName"].as_str().unwrap_or_default().to_owned())
}

/// A message of a server in the client's process.
fn deliver(session: &SessionServers, request: &Value) -> Value {
    if let Some(servers) = session.started() {
        servers.deliver(request["server_name"].as_str().unwrap_or_default(), request["message"].clone());
        session.note_change();
    }
    json!({})
}

/// An empty set where there are no servers changes nothing.
async fn set(session: &SessionServers, request: &Value) -> Value {
    let wanted = &request["servers"];
    let is_empty = wanted.as_object().is_none_or(serde_json::Map::is_empty);
    let Some(servers) = (if is_empty { session.started() } else { Some(session.all()) }) else {
        return json!({"added": [], "removed": [], "errors": {}});
    };
    let (configs, problems) = mcp::parse(wanted, DYNAMIC, session.variable());
    let result = servers.set(configs).await;
    let mut errors: serde_json::Map<String, Value> =
        result.errors.into_iter().map(|(name, why)| (name, json!(why))).collect();
    errors.extend(problems.into_iter().map(|problem| (problem.name, json!(problem.message))));
    session.note_change();
    json!({"added": result.added, "removed": result.removed, "errors": errors})
}

/// `mcp_status`: every server and how it stands.
pub fn status(session: &SessionServers) -> Value {
    let one = |server: Status| {
        let mut value = json!({
            "name": server.name,
            "status": server.status,
            "config": server.config,
            "scope": server.scope,
            "source": server.source,
            "tools": server.tools,
        });
        let error = server.error.map(Value::from);
        for (key, part) in [("serverInfo", server.server_info), ("error", error)] {
            if let Some(part) = part {
                value[key] = part;
            }
        }
        value
    };
    json!({"mcpServers": session.statuses().into_iter().map(one).collect::<Vec<_>>()})
}
