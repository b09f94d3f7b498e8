//! What we answer to a server's own questions: where the work is, and what the user says where somebody can ask
//! them. No server samples our model: that is not announced, and rmcp declines it where a server asks anyway.

#![expect(deprecated, reason = "roots are on their way out of the protocol, but the servers of today ask for them")]

use crate::elicit::{self, Question};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, ListRootsResult, ProtocolVersion, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use url::Url;

pub(crate) struct Handler {
    config: ClientConfig,
    roots: Vec<Root>,
    /// Told when the server's tools or prompts are others than before. However often, it is one note.
    changed: Arc<Notify>,
    /// To the task that can ask the user.
    questions: Option<Sender<Question>>,
}

impl Handler {
    pub(crate) fn new<P: AsRef<Path>>(
        (name, version): (&str, &str),
        roots: &[P],
        changed: Arc<Notify>,
        questions: Option<Sender<Question>>,
    ) -> Self {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        if questions.is_some() {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = Some(FormElicitationCapability::new());
            elicitation.url = Some(UrlElicitationCapability::new());
            capabilities.elicitation = Some(elicitation);
        }
        // The last one with an initialize handshake, which every server knows.
        let config = ClientConfig::new(capabilities, Implementation::new(name, version))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let roots = roots.iter().filter_map(|root| Url::from_file_path(root).ok()).map(Root::new).collect();
        Self { config, roots, changed, questions }
    }
}

impl ClientHandler for Handler {
    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.clone()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            answer = elicit::ask(self.questions.as_ref(), request) => Ok(answer),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
