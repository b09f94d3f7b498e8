//! Resources of MCP servers: listing and reading them.

use super::SessionServers;
use crate::error::ServerError;
use crate::resources::{LIST_RESOURCES, ListResources, READ_RESOURCE, ReadResource};
use serde_json::Value;
use tools::Tool;

impl SessionServers {
    /// The tool of this name, where there are servers.
    pub fn resource_tool(&self, name: &str) -> Option<Box<dyn Tool>> {
        let servers = self.started.get()?.clone();
        match name {
            _ if name == LIST_RESOURCES.name => Some(Box::new(ListResources(servers))),
            _ if name == READ_RESOURCE.name => Some(Box::new(ReadResource(servers))),
            _ => None,
        }
    }

    /// The contents of one resource.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<Value>, ServerError> {
        let servers = self.started.get().ok_or(ServerError::NoneConfigured)?;
        servers.read_resource(server, uri).await
    }
}
