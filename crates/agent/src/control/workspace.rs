//! `get_plan`, `get_workspace_diff`, `file_suggestions`: what a client shows beside the conversation. Git and disks take their time, so
//! nobody waits for them but the client.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use crate::Options;
use context::conversation_tools::plan;
use conversation::{Conversation, MainMachine};
use futures_util::FutureExt as _;
use output::Secrets;
use serde_json::{Value, json};
use std::rc::Rc;
use std::sync::Arc;

pub struct WorkspaceRequests {
    pub options: Rc<Options>,
    pub main: Rc<Conversation>,
    pub machine: Rc<MainMachine>,
    pub secrets: Secrets,
}

impl Group for WorkspaceRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "get_plan" => Reply::value(json!({"plan": plan::last(&self.machine.messages())})),
            "get_workspace_diff" => Reply::Beside(async move { Ok(json!({"diff": self.diff().await})) }.boxed_local()),
            "file_suggestions" => Reply::beside(async move { self.suggestions(&request).await }),
            _ => return None,
        })
    }
}

impl WorkspaceRequests {
    async fn diff(&self) -> Value {
        let tools = self.main.tools();
        let diff = conversation::workspace_diff(&self.options.env, &tools.workspace.cwd(), &tools.denied).await;
        self.secrets.hide_value(diff)
    }

    async fn suggestions(&self, request: &Value) -> Result<Value, FieldError> {
        let query = text(request, "query")?.to_owned();
        let tools = self.main.tools();
        let (folder, denied) = (tools.workspace.cwd(), Arc::clone(&tools.denied));
        let cwd = folder.display().to_string();
        let found = tokio::task::spawn_blocking(move || conversation::suggest_files(&folder, &query, &denied)).await;
        let suggestions: Vec<Value> = found.unwrap_or_default().into_iter().map(|path| json!({"path": path})).collect();
        Ok(json!({"suggestions": suggestions, "cwd": cwd}))
    }
}
