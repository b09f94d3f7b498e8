//! The `mcp_…` requests of a client.

use super::error::RequestError;
use mcp::{DYNAMIC, Servers, SessionServers, Status};
use serde_json::{Value, json};

/// Answers one of them. It may wait for servers.
pub async fn answer(session: &SessionServers, request: &Value) -> Result<Value, RequestError> {
    let subtype = request["subtype"].as_str().unwrap_or_default();
    let first =
        subtype == "mcp_set_servers" && request["servers"].as_object().is_some_and(|servers| !servers.is_empty());
    let servers = if first { Some(session.all()) } else { session.started() };
    let Some(servers) = servers else {
        return answer_without_servers(subtype, request);
    };
    let name = || request["serverName"].as_str().ok_or_else(|| format!("{subtype} needs \"serverName\", a string"));
    let answer = match subtype {
        "mcp_reconnect" => servers.reconnect(name()?).await.map(|()| json!({})).map_err(RequestError::from),
        "mcp_toggle" => {
            servers.toggle(name()?, request["enabled"] != false).map(|()| json!({})).map_err(RequestError::from)
        }
        "mcp_set_servers" => Ok(set(session, servers, &request["servers"]).await),
        "mcp_message" => {
            servers.deliver(request["server_name"].as_str().unwrap_or_default(), request["message"].clone());
            Ok(json!({}))
        }
        other => Err(RequestError::Unsupported(other.to_owned())),
    };
    session.note_change();
    answer
}

async fn set(session: &SessionServers, servers: &Servers, wanted: &Value) -> Value {
    let (configs, problems) = mcp::parse(wanted, DYNAMIC, session.variable());
    let result = servers.set(configs).await;
    let mut errors: serde_json::Map<String, Value> =
        result.errors.into_iter().map(|(name, why)| (name, json!(why))).collect();
    errors.extend(problems.into_iter().map(|problem| (problem.name, json!(problem.message))));
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

/// There are no servers: nothing can be reconnected, and an empty set is what there is.
fn answer_without_servers(subtype: &str, request: &Value) -> Result<Value, RequestError> {
    match subtype {
        "mcp_message" => Ok(json!({})),
        "mcp_set_servers" => Ok(json!({"added": [], "removed": [], "errors": {}})),
        "mcp_reconnect" | "mcp_toggle" => {
            Err(format!("Server not found: {}", request["serverName"].as_str().unwrap_or_default()).into())
        }
        other => Err(RequestError::Unsupported(other.to_owned())),
    }
}
