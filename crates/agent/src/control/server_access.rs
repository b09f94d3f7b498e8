//! What a client does with servers itself: logins for its user, calls and pages without a turn.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use conversation::Conversation;
use conversation::rules::Rules;
use mcp::{ServerError, SessionServers};
use output::Secrets;
use policy::{Targets, Verdict};
use serde_json::{Value, json};
use std::rc::Rc;

/// Members of `mcp_call` that need a service beside us; such a call is refused before anything runs.
const STAGED: [&str; 4] = ["input_files", "output_files", "expires_at", "timeout_ms"];

pub struct ServerAccessRequests {
    pub servers: Rc<SessionServers>,
    pub rules: Rc<Rules>,
    pub main: Rc<Conversation>,
    pub secrets: Secrets,
}

#[derive(Debug, thiserror::Error)]
enum AccessError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("mcp_call with {} is not supported here; nothing ran", STAGED.join(", "))]
    Staged,
    /// Clients look for the first words.
    #[error("The tool did not run: {0}")]
    Denied(String),
}

impl Group for ServerAccessRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "mcp_authenticate" => Reply::beside(async move { self.authenticate(&request).await }),
            "mcp_oauth_callback_url" => Reply::beside(async move { self.take_callback(&request).await }),
            "mcp_clear_auth" => Reply::beside(async move { self.clear_login(&request).await }),
            "mcp_call" => Reply::beside(async move { self.call(&request).await }),
            "mcp_read_resource" => Reply::beside(async move { self.page(&request).await }),
            _ => return None,
        })
    }
}

impl ServerAccessRequests {
    async fn authenticate(&self, request: &Value) -> Result<Value, AccessError> {
        Ok(self.servers.authenticate(text(request, "serverName")?).await?)
    }

    async fn take_callback(&self, request: &Value) -> Result<Value, AccessError> {
        let address = text(request, "callbackUrl")?;
        self.servers.take_callback(text(request, "serverName")?, address).await?;
        Ok(json!({}))
    }

    async fn clear_login(&self, request: &Value) -> Result<Value, AccessError> {
        self.servers.clear_login(text(request, "serverName")?).await?;
        self.servers.note_change();
        Ok(json!({}))
    }

    async fn page(&self, request: &Value) -> Result<Value, AccessError> {
        let servers = self.servers.started().ok_or(ServerError::NoneConfigured)?;
        Ok(json!({"contents": servers.page(text(request, "serverName")?, text(request, "uri")?).await?}))
    }

    /// A call that the client makes itself. It has its own right to make it, but a rule that denies the tool denies it to
    /// everybody; with `check_permissions` only what the rules allow runs, because nobody is asked.
    async fn call(&self, request: &Value) -> Result<Value, AccessError> {
        let tool = text(request, "tool")?;
        if STAGED.iter().any(|member| request.get(*member).is_some()) {
            return Err(AccessError::Staged);
        }
        let checks = match request.get("check_permissions") {
            None => false,
            Some(Value::Bool(checks)) => *checks,
            Some(_) => return Err(FieldError::Value { key: "check_permissions", wanted: "true or false" }.into()),
        };
        let servers = self.servers.started().ok_or(ServerError::NoneConfigured)?;
        let input = request.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let wants_a_person = self.servers.wants_a_person(tool);
        let decision = self.rules.judge(&self.main, tool, &input, &Targets::default(), wants_a_person);
        if decision.verdict == Verdict::Deny || (checks && decision.verdict != Verdict::Allow) {
            return Err(AccessError::Denied(decision.reason));
        }
        Ok(self.secrets.hide_value(servers.call_raw(tool, input).await?))
    }
}
