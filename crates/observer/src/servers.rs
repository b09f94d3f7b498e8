//! MCP servers: one event when a connection stands, fails, or ends with the session. Plugins: one when they are loaded.

use crate::record::Recorder;
use telemetry::Event;
use turn::Role;

/// A server's standing.
pub struct ServerSeen<'a> {
    pub name: &'a str,
    /// connected, failed, needs-auth, pending or disabled.
    pub status: &'a str,
    pub transport: &'a str,
    pub scope: &'a str,
    pub error: Option<&'a str>,
}

/// A plugin that was loaded.
pub struct PluginSeen {
    pub has_hooks: bool,
    pub has_mcp: bool,
    pub skills: usize,
    pub agents: usize,
}

impl Recorder {
    /// None of them is ours, so none is named.
    pub(crate) fn plugin_loaded(&self, plugin: &PluginSeen) {
        let event = Event::new("plugin_loaded")
            .with("plugin.name", "third-party")
            .with("marketplace.name", "third-party")
            .with("has_hooks", plugin.has_hooks)
            .with("has_mcp", plugin.has_mcp)
            .with("host_owned_mcp", false)
            .with("skill_path_count", plugin.skills as u64)
            .with("agent_path_count", plugin.agents as u64)
            .with("safe_mode", "false");
        self.record(&Role::Main, event);
    }

    /// Tells of what has changed since the last time. Servers are started together, `lasted_ms` before.
    pub(crate) fn server_seen(&self, server: &ServerSeen, lasted_ms: u64) {
        let status = match server.status {
            "connected" => "connected",
            "failed" | "needs-auth" => "failed",
            _ => return,
        };
        {
            let mut state = self.state();
            let seen = (status.to_owned(), server.transport.to_owned(), server.scope.to_owned());
            let before = state.servers.insert(server.name.to_owned(), seen);
            if before.is_some_and(|(before, ..)| before == status) {
                return;
            }
        }
        let event = connection(status, server.transport, server.scope, lasted_ms);
        let event = event.with_some("server_name", self.details().then_some(server.name));
        let error = server.error.filter(|_| self.details()).map(|error| self.content(error));
        self.record(&Role::Main, event.with_some("error", error));
    }

    /// All connections end with the session.
    pub(crate) fn servers_end(&self) {
        let servers = std::mem::take(&mut self.state().servers);
        for (name, (_, transport, scope)) in servers.iter().filter(|(_, (status, ..))| status == "connected") {
            let event = connection("disconnected", transport, scope, 0);
            self.record(&Role::Main, event.with_some("server_name", self.details().then_some(name.as_str())));
        }
    }
}

fn connection(status: &str, transport: &str, scope: &str, lasted_ms: u64) -> Event {
    Event::new("mcp_server_connection")
        .with("status", status)
        .with("transport_type", transport)
        .with("server_scope", scope)
        .with("duration_ms", lasted_ms.to_string())
        .with("is_plugin", scope == "plugin")
}
