//! What we answer to a server's own questions: where the work is. Nothing else: no server samples our
//! model or questions our user; neither is announced, and rmcp declines both where a server asks anyway.

#![expect(deprecated, reason = "roots are on their way out of the protocol, but the servers of today ask for them")]

use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProtocolVersion, Root,
    RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Notify;
use url::Url;

pub(crate) struct Handler {
    config: ClientConfig,
    roots: Vec<Root>,
    /// Told when the server's tools are others than before. However often, it is one note.
    changed: Arc<Notify>,
}

impl Handler {
    pub(crate) fn new<P: AsRef<Path>>((name, version): (&str, &str), roots: &[P], changed: Arc<Notify>) -> Self {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        // The last one with an initialize handshake, which every server knows.
        let config = ClientConfig::new(capabilities, Implementation::new(name, version))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let roots = roots.iter().filter_map(|root| Url::from_file_path(root).ok()).map(Root::new).collect();
        Self { config, roots, changed }
    }
}

impl ClientHandler for Handler {
    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.clone()))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
