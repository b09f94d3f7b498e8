//! The `mcp_…` requests of a client.

use crate::shared::Shared;
use mcp::Servers;
use serde_json::{Value, json};
use std::rc::Rc;

pub async fn control(shared: &Rc<Shared>, request: &Value) -> Result<Value, String> {
    let subtype = request["subtype"].as_str().unwrap_or_default();
    let first =
        subtype == "mcp_set_servers" && request["servers"].as_object().is_some_and(|servers| !servers.is_empty());
    let servers = if first { Some(super::servers(shared)) } else { shared.outside.servers.get() };
    let Some(servers) = servers else {
        return none(subtype, request);
    };
    let name = || request["serverName"].as_str().ok_or_else(|| format!("{subtype} needs \"serverName\", a string"));
    let answer = match subtype {
        "mcp_reconnect" => servers.reconnect(name()?).await.map(|()| json!({})).map_err(String::from),
        "mcp_toggle" => servers.toggle(name()?, request["enabled"] != false).map(|()| json!({})).map_err(String::from),
        "mcp_set_servers" => Ok(set(shared, servers, &request["servers"]).await),
        "mcp_message" => {
            servers.deliver(request["server_name"].as_str().unwrap_or_default(), request["message"].clone());
            Ok(json!({}))
        }
        other => Err(format!("Unsupported control request subtype: {other}")),
    };
    shared.live.stale.set(true);
    answer
}

/// There are no servers: nothing can be reconnected, and an empty set is what there is.
fn none(subtype: &str, request: &Value) -> Result<Value, String> {
    match subtype {
        "mcp_message" => Ok(json!({})),
        "mcp_set_servers" => Ok(json!({"added": [], "removed": [], "errors": {}})),
        "mcp_reconnect" | "mcp_toggle" => {
            Err(format!("Server not found: {}", request["serverName"].as_str().unwrap_or_default()))
        }
        other => Err(format!("Unsupported control request subtype: {other}")),
    }
}

async fn set(shared: &Shared, servers: &Servers, wanted: &Value) -> Value {
    let (configs, problems) = mcp::parse(wanted, mcp::DYNAMIC, &super::variable(shared));
    let result = servers.set(configs).await;
    let mut errors: serde_json::Map<String, Value> =
        result.errors.into_iter().map(|(name, why)| (name, json!(why))).collect();
    errors.extend(problems.into_iter().map(|problem| (problem.name, json!(problem.message))));
    json!({"added": result.added, "removed": result.removed, "errors": errors})
}

pub fn status(shared: &Shared) -> Value {
    let statuses = shared.outside.servers.get().map(Servers::statuses).unwrap_or_default();
    let servers: Vec<Value> = statuses
        .into_iter()
        .map(|server| {
            let mut value = json!({"name": server.name, "status": server.status, "config": server.config, "scope": server.scope, "tools": server.tools});
            for (key, part) in [("serverInfo", server.server_info), ("error", server.error.map(Value::from)), ("source", server.source.map(Value::from))] {
                if let Some(part) = part {
                    value[key] = part;
                }
            }
            value
        })
        .collect();
    json!({"mcpServers": servers})
}
