//! Servers that an agent brings along: there while it works, and for nobody else.

use super::SessionServers;
use crate::config::{ServerConfig, parse};
use crate::tool::McpTool;
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// Where such a server is said to come from.
const SCOPE: &str = "agent";

/// Ends the servers when the last agent that uses them is done.
pub struct AgentServers {
    servers: Rc<SessionServers>,
    names: Vec<String>,
}

impl SessionServers {
    /// Starts the servers that an agent's definition describes and waits for them, bounded. Those it only names are there
    /// already, or are told as missing.
    pub async fn start_for_agent(self: &Rc<Self>, agent: &str, described: Option<&Value>) -> Option<AgentServers> {
        let configs = self.described(agent, described);
        if configs.is_empty() {
            return None;
        }
        let servers = self.all();
        let mut names = Vec::new();
        let mut new = Vec::new();
        for config in configs {
            let mut agent_servers = self.agent_servers.borrow_mut();
            let known = servers.statuses().iter().any(|server| server.name == config.name);
            match agent_servers.get_mut(&config.name) {
                Some(users) => *users += 1,
                // A server of the session is used as it is.
                None if known => continue,
                None => drop(agent_servers.insert(config.name.clone(), 1)),
            }
            names.push(config.name.clone());
            new.push(config);
        }
        let started = AgentServers { servers: Rc::clone(self), names };
        servers.start(new);
        servers.ready_of(&started.names).await;
        self.say_failures(servers);
        Some(started)
    }

    /// The servers of the agent that the session itself runs as: there for the whole session.
    pub fn start_for_session(&self, agent: &str, described: Option<&Value>) {
        let configs = self.described(agent, described);
        if !configs.is_empty() {
            self.all().start(configs);
        }
    }

    fn described(&self, agent: &str, described: Option<&Value>) -> Vec<ServerConfig> {
        let Some(value) = described else { return Vec::new() };
        let mut map = Map::new();
        match value {
            Value::Object(servers) => map.extend(servers.clone()),
            Value::Array(items) => {
                for servers in items.iter().filter_map(Value::as_object) {
                    map.extend(servers.clone());
                }
            }
            _ => {}
        }
        let (configs, problems) = parse(&json!({"mcpServers": map}), SCOPE, self.variable());
        for problem in problems {
            (self.handles.warn)(&format!(
                "warning: MCP server {} of the agent {agent}: {}",
                problem.name, problem.message
            ));
        }
        configs
    }
}

impl AgentServers {
    pub fn tools(&self) -> Vec<McpTool> {
        let Some(servers) = self.servers.started.get() else { return Vec::new() };
        servers.tools().into_iter().filter(|tool| self.names.contains(&tool.server)).collect()
    }
}

impl Drop for AgentServers {
    fn drop(&mut self) {
        let mut agent_servers = self.servers.agent_servers.borrow_mut();
        for name in &self.names {
            let left = agent_servers.get(name).map_or(0, |users| users.saturating_sub(1));
            if left > 0 {
                agent_servers.insert(name.clone(), left);
                continue;
            }
            agent_servers.remove(name);
            if let Some(servers) = self.servers.started.get() {
                servers.stop(name);
            }
        }
    }
}
