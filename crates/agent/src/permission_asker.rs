//! The effect of asking for a permission: the client, or a tool of the client's.

use crate::{Options, Prompter};
use conversation::{Conversation, HookRunner};
use hooks::Notification;
use mcp::SessionServers;
use output::{ClientAsker, ClientError, States};
use serde_json::{Value, json};
use std::rc::Rc;
use turn::{PermissionAnswer, PermissionQuestion};

pub struct PermissionAsker {
    pub options: Rc<Options>,
    pub client: Rc<ClientAsker>,
    pub states: Rc<States>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
}

impl PermissionAsker {
    /// Asks whoever is there.
    pub async fn ask(&self, conversation: &Conversation, question: &PermissionQuestion) -> PermissionAnswer {
        match &self.options.permissions.prompter {
            Prompter::Nobody => PermissionAnswer::Nobody,
            Prompter::Client => {
                let asked = self.notified(conversation, question, self.ask_client(question)).await;
                asked.map_or(PermissionAnswer::Nobody, PermissionAnswer::Answer)
            }
            // A program is no person.
            Prompter::Tool(_) if self.servers.wants_a_person(&question.name) => PermissionAnswer::Nobody,
            Prompter::Tool(tool) => {
                if let Some(missing) = self.servers.missing_prompter(tool).await {
                    return PermissionAnswer::NoPrompter(missing);
                }
                let asked = self.notified(conversation, question, self.ask_tool(tool, question));
                PermissionAnswer::Answer(asked.await)
            }
        }
    }

    /// Hooks hear that somebody is asked, while they are.
    async fn notified<T>(
        &self,
        conversation: &Conversation,
        question: &PermissionQuestion,
        asked: impl Future<Output = T>,
    ) -> T {
        let message = format!("A permission is needed to use {}", question.name);
        let payload = Notification { message: &message, notification_type: "permission_prompt" };
        let told = self.hooks.fire(conversation, &payload);
        futures_util::future::join(asked, told).await.0
    }

    /// `None` where the client is gone: then nobody was there.
    async fn ask_client(&self, question: &PermissionQuestion) -> Option<Value> {
        let decision = &question.decision;
        let mut request = json!({
            "subtype": "can_use_tool",
            "tool_name": question.name,
            "display_name": question.name,
            "input": question.input,
            "tool_use_id": question.tool_use_id,
            "description": description(&question.name, &question.input),
            "permission_suggestions": question.suggestions,
            "decision_reason": decision.reason,
            "decision_reason_type": decision.reason_type,
        });
        if let Some(path) = &decision.blocked_path {
            request["blocked_path"] = json!(path);
        }
        if let Some(agent) = &question.agent_id {
            request["agent_id"] = json!(agent);
        }
        match self.states.while_asked(self.client.ask(request)).await {
            Ok(answer) => Some(answer),
            Err(ClientError::Closed) => None,
            Err(error) => Some(json!({"behavior": "deny", "message": error.to_string()})),
        }
    }

    /// An MCP tool that answers permission questions, with JSON in its text.
    async fn ask_tool(&self, tool: &str, question: &PermissionQuestion) -> Value {
        let arguments = json!({
            "tool_name": question.name,
            "input": question.input,
            "tool_use_id": question.tool_use_id,
        });
        let deny = |message: String| json!({"behavior": "deny", "message": message});
        match self.servers.call_for_text(tool, arguments).await {
            Ok(text) => {
                serde_json::from_str(&text).unwrap_or_else(|_| deny(format!("{tool} did not answer with JSON")))
            }
            Err(error) => deny(error.to_string()),
        }
    }
}

fn description(name: &str, input: &Value) -> String {
    let said = ["description", "command", "file_path", "notebook_path", "pattern", "url", "query", "skill"];
    said.iter().find_map(|key| input[*key].as_str()).unwrap_or(name).to_owned()
}
