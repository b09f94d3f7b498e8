//! Servers that an agent brings along: there while it works, and for nobody else.

use super::Servers;
use context::Tool;
use mcp::ServerConfig;
use output::warn;
use project::AgentDef;
use serde_json::{Value, json};
use std::rc::Rc;

/// Where such a server is said to come from.
const SCOPE: &str = "agent";

/// Ends the servers when the last agent that uses them is done.
pub struct Hired {
    servers: Rc<Servers>,
    names: Vec<String>,
}

impl Servers {
    /// Starts the servers that an agent's definition describes and waits for them, bounded. Those it only names are there
    /// already, or are told as missing.
    pub async fn hire(self: &Rc<Self>, agent: &AgentDef) -> Option<Hired> {
        let configs = self.described(agent);
        if configs.is_empty() {
            return None;
        }
        let servers = self.all();
        let mut names = Vec::new();
        let mut new = Vec::new();
        for config in configs {
            let mut hired = self.hired.borrow_mut();
            let known = servers.statuses().iter().any(|server| server.name == config.name);
            match hired.get_mut(&config.name) {
                Some(users) => *users += 1,
                // A server of the session is used as it is.
                None if known => continue,
                None => drop(hired.insert(config.name.clone(), 1)),
            }
            names.push(config.name.clone());
            new.push(config);
        }
        let hired = Hired { servers: Rc::clone(self), names };
        servers.start(new);
        servers.ready().await;
        self.say_failures(servers);
        Some(hired)
    }

    /// The servers of the agent that the session itself runs as: there for the whole session.
    pub fn start_for_session(&self, agent: &AgentDef) {
        let configs = self.described(agent);
        if !configs.is_empty() {
            self.all().start(configs);
        }
    }

    fn described(&self, agent: &AgentDef) -> Vec<ServerConfig> {
        let Some(value) = &agent.mcp_servers else { return Vec::new() };
        let mut map = serde_json::Map::new();
        match value {
            Value::Object(servers) => map.extend(servers.clone()),
            Value::Array(items) => {
                for servers in items.iter().filter_map(Value::as_object) {
                    map.extend(servers.clone());
                }
            }
            _ => {}
        }
        let (configs, problems) = mcp::parse(&json!({"mcpServers": map}), SCOPE, &self.variable());
        for problem in problems {
            let agent = &agent.name;
            warn(&format!("warning: MCP server {} of the agent {agent}: {}", problem.name, problem.message));
        }
        configs
    }
}

impl Hired {
    pub fn tools(&self) -> Vec<Tool> {
        let Some(servers) = self.servers.started.get() else { return Vec::new() };
        let tools = servers.tools();
        let ours = tools.iter().filter(|tool| self.names.contains(&tool.server));
        ours.map(|tool| Tool::new(&tool.full_name, tool.read_only, &tool.description, &tool.schema)).collect()
    }
}

impl Drop for Hired {
    fn drop(&mut self) {
        let mut hired = self.servers.hired.borrow_mut();
        for name in &self.names {
            let left = hired.get(name).map_or(0, |users| users.saturating_sub(1));
            if left > 0 {
                hired.insert(name.clone(), left);
                continue;
            }
            hired.remove(name);
            if let Some(servers) = self.servers.started.get() {
                servers.stop(name);
            }
        }
    }
}
