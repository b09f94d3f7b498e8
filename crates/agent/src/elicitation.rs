//! Questions that servers have for people: hooks may answer, else the client's user is asked.

use conversation::HookRunner;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hooks::{Elicitation, ElicitationResult, HookAnswer, Notification};
use mcp::Elicit;
use output::{ClientAsker, States};
use serde_json::{Map, Value, json};
use std::rc::{Rc, Weak};

/// The way to the client's user.
pub struct UserElicit {
    pub hooks: Weak<HookRunner>,
    pub client: Rc<ClientAsker>,
    pub states: Rc<States>,
}

impl Elicit for UserElicit {
    fn ask(&self, server: &str, question: Value) -> LocalBoxFuture<'static, Value> {
        let (hooks, client, states) = (self.hooks.clone(), Rc::clone(&self.client), Rc::clone(&self.states));
        let server = server.to_owned();
        async move {
            match hooks.upgrade() {
                Some(hooks) => ask(&hooks, &client, &states, &server, question).await,
                None => json!({"action": "cancel"}),
            }
        }
        .boxed_local()
    }
}

/// What hooks or the client's user say to a server's question. Whoever cannot or does not answer declines.
async fn ask(hooks: &HookRunner, client: &ClientAsker, states: &States, server: &str, question: Value) -> Value {
    let payload = Elicitation { mcp_server_name: server, question: asked(&question) };
    if let Some(answer) = decided(hooks.fire_outside(&payload).await) {
        return answer;
    }
    let message = format!("The MCP server {server} asks: {}", question["message"].as_str().unwrap_or_default());
    hooks.fire_outside(&Notification { message: &message, notification_type: "elicitation_dialog" }).await;
    let mut request = json!({"subtype": "elicitation", "mcp_server_name": server});
    for (key, value) in question.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        request[key] = value.clone();
    }
    let answer = states.while_asked(client.ask(request)).await;
    let answer = answer.unwrap_or_else(|_| json!({"action": "decline"}));
    let mut question = asked(&question);
    for key in ["message", "requested_schema", "url"] {
        question.shift_remove(key);
    }
    let (action, content) = (&answer["action"], answer.get("content"));
    let payload = ElicitationResult { mcp_server_name: server, question, action, content };
    let decision = decided(hooks.fire_outside(&payload).await);
    decision.unwrap_or(answer)
}

/// The fields of a server's question.
fn asked(question: &Value) -> Map<String, Value> {
    let said = question.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    said.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A refusal declines; what a hook decides otherwise counts as it stands.
fn decided(answer: HookAnswer) -> Option<Value> {
    let refused = answer.blocked.or(answer.stop).map(|_| json!({"action": "decline"}));
    refused.or(answer.elicitation)
}
