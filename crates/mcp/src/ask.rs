//! One question to a connected server. A caller that stops waiting tells the server so.

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ListPromptsRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, RequestId,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use std::time::Duration;

/// Pages of one list; a server that never ends one is cut off here.
const PAGES_MAX: usize = 100;

/// Entries of one list: far more than a model could be told of.
const ENTRIES_MAX: usize = 2_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("the connection is closed")]
    Closed,
    #[error("it did not answer within {} s, and the request was cancelled", .0.as_secs_f32())]
    Silent(Duration),
    #[error("{message} (MCP error {code})")]
    Refused { code: i32, message: String },
    #[error("{0}")]
    Unsent(String),
}

impl From<ServiceError> for AskError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::TransportClosed => Self::Closed,
            ServiceError::Timeout { timeout } => Self::Silent(timeout),
            ServiceError::McpError(error) => Self::Refused { code: error.code.0, message: error.message.into_owned() },
            ServiceError::TransportSend(error) => Self::Unsent(error.error.to_string()),
            other => Self::Unsent(other.to_string()),
        }
    }
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    pub(crate) total: Option<Duration>,
    /// Without an answer or a word of progress.
    pub(crate) idle: Option<Duration>,
}

impl Patience {
    fn options(self) -> PeerRequestOptions {
        let options = match self.idle {
            Some(idle) => PeerRequestOptions::with_timeout(idle).reset_timeout_on_progress(),
            None => PeerRequestOptions::no_options(),
        };
        match self.total {
            Some(total) => options.with_max_total_timeout(total),
            None => options,
        }
    }
}

/// The result as plain JSON: what rmcp's types do not know is not lost, and reading it stays lenient.
pub(crate) async fn ask(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    patience: Patience,
) -> Result<Value, AskError> {
    let handle = peer.send_request_with_option(request, patience.options()).await?;
    let mut abandoned = Abandoned { peer, id: Some(handle.id.clone()) };
    let answer = handle.await_response().await;
    abandoned.id = None;
    serde_json::to_value(answer?).map_err(|error| AskError::Unsent(error.to_string()))
}

/// Dropped while it holds an id, it tells the server that nobody waits for that answer any more.
struct Abandoned<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        // Without a runtime the connection is gone as well.
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for it any more".to_owned());
        let note = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        runtime.spawn(async move { peer.send_notification(note.into()).await });
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Listed {
    Tools,
    Resources,
    Prompts,
}

impl Listed {
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Tools => ListToolsRequest::with_param(page).into(),
            Self::Resources => ListResourcesRequest::with_param(page).into(),
            Self::Prompts => ListPromptsRequest::with_param(page).into(),
        }
    }
}

/// All pages of a list, as far as the bounds go.
pub(crate) async fn list(peer: &Peer<RoleClient>, what: Listed, patience: Patience) -> Result<Vec<Value>, AskError> {
    let mut entries = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let mut page = ask(peer, what.request(cursor), patience).await?;
        if let Some(Value::Array(more)) = page.get_mut(what.key()).map(Value::take) {
            entries.extend(more);
        }
        let next = page.get("nextCursor").and_then(Value::as_str).filter(|next| !next.is_empty());
        match next {
            Some(next) if entries.len() < ENTRIES_MAX => cursor = Some(next.to_owned()),
            _ => break,
        }
    }
    entries.truncate(ENTRIES_MAX);
    Ok(entries)
}
