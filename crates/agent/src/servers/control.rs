//! The `mcp_…` requests of a client.

use super::Servers;
use serde_json::{Value, json};

impl Servers {
    pub async fn control(&self, request: &Value) -> Result<Value, String> {
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let first =
            subtype == "mcp_set_servers" && request["servers"].as_object().is_some_and(|servers| !servers.is_empty());
        let servers = if first { Some(self.all()) } else { self.started.get() };
        let Some(servers) = servers else {
            return none(subtype, request);
        };
        let name = || request["serverName"].as_str().ok_or_else(|| format!("{subtype} needs \"serverName\", a string"));
        let answer = match subtype {
            "mcp_reconnect" => servers.reconnect(name()?).await.map(|()| json!({})).map_err(String::from),
            "mcp_toggle" => {
                servers.toggle(name()?, request["enabled"] != false).map(|()| json!({})).map_err(String::from)
            }
            "mcp_set_servers" => Ok(self.set(servers, &request["servers"]).await),
            "mcp_message" => {
                servers.deliver(request["server_name"].as_str().unwrap_or_default(), request["message"].clone());
                Ok(json!({}))
            }
            other => Err(format!("Unsupported control request subtype: {other}")),
        };
        self.choices.mark_stale();
        answer
    }

    async fn set(&self, servers: &mcp::Servers, wanted: &Value) -> Value {
        let (configs, problems) = mcp::parse(wanted, mcp::DYNAMIC, &self.variable());
        let result = servers.set(configs).await;
        let mut errors: serde_json::Map<String, Value> =
            result.errors.into_iter().map(|(name, why)| (name, json!(why))).collect();
        errors.extend(problems.into_iter().map(|problem| (problem.name, json!(problem.message))));
        json!({"added": result.added, "removed": result.removed, "errors": errors})
    }

    pub fn status(&self) -> Value {
        let one = |server: mcp::Status| {
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
        json!({"mcpServers": self.statuses().into_iter().map(one).collect::<Vec<_>>()})
    }
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
