//! Between servers and people: prompts that people call like commands, and questions that servers have for them.

use crate::moments;
use crate::shared::Shared;
use crate::state::Waiting;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use mcp::{Elicit, Prompt, Servers};
use serde_json::{Value, json};
use std::rc::Weak;

/// The prompts of connected servers, as `/mcp__server__prompt`.
pub fn prompts(shared: &Shared) -> Vec<Prompt> {
    shared.outside.servers.get().map(Servers::prompts).unwrap_or_default()
}

/// The text of a prompt for the model; `None` where no server has one of this name.
pub async fn call_prompt(shared: &Shared, name: &str, args: &str) -> Option<Result<Vec<Value>, String>> {
    let servers = shared.outside.servers.get()?;
    let prompt = servers.prompts().into_iter().find(|prompt| prompt.full_name == name)?;
    Some(servers.prompt(&prompt, &project::split_arguments(args)).await.map_err(String::from))
}

/// What hooks or the client's user say to a server's question. Whoever cannot or does not answer declines.
async fn ask(shared: &Shared, server: &str, question: Value) -> Value {
    if let Some(answer) = moments::question_comes(shared, server, &question).await {
        return answer;
    }
    let mut request = json!({"subtype": "elicitation", "mcp_server_name": server});
    for (key, value) in question.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        request[key] = value.clone();
    }
    let waiting = Waiting::announce(shared).await;
    let answer = shared.link.ask(&shared.emitter, request).await;
    waiting.over().await;
    let answer = answer.unwrap_or_else(|_| json!({"action": "decline"}));
    moments::question_answered(shared, server, &question, answer).await
}

/// The way to the client's user.
pub struct User(pub Weak<Shared>);

impl Elicit for User {
    fn ask(&self, server: &str, question: Value) -> LocalBoxFuture<'static, Value> {
        let (shared, server) = (self.0.clone(), server.to_owned());
        async move {
            match shared.upgrade() {
                Some(shared) => ask(&shared, &server, question).await,
                None => json!({"action": "cancel"}),
            }
        }
        .boxed_local()
    }
}
