//! Calls of built-in tools without a model and without a client who could be asked (`mcp serve`).
//!
//! Deliberately absent: whether a call may run (`conversation::UnattendedCall`), and tools that are part of a conversation.

use crate::executor::Parts;
use crate::tool_runner::Permitted;
use conversation::{Allowed, Conversation, UnattendedCall};
use serde_json::Value;
use std::time::Instant;
use turn::CallResult;

/// The content of the result (a text or blocks), and whether it is an error.
pub async fn call(parts: &Parts, conversation: &Conversation, name: &str, input: Value) -> (Value, bool) {
    let id = parts.output.ids().next();
    let call = UnattendedCall { conversation, tool_use_id: &id, name };
    let result = parts.secrets.hide(run(parts, &call, input).await.unwrap_or_else(|refused| refused));
    let is_error = result.is_error();
    (result.content.into(), is_error)
}

async fn run(parts: &Parts, call: &UnattendedCall<'_>, input: Value) -> Result<CallResult, CallResult> {
    let (conversation, name, id) = (call.conversation, call.name, call.tool_use_id);
    let check = |input: Value| parts.tools.check(conversation, id, name, input);
    let Allowed { input, run } = call.judge(&parts.hooks, &parts.rules, input, check).await?;
    let permitted = Permitted { tool_use_id: id.to_owned(), name: name.to_owned(), input: input.clone(), run };
    let started = Instant::now();
    let finish = parts.tools.run_alone(conversation, &permitted).await;
    let result = finish.ok_or_else(|| CallResult::misuse(format!("No such tool available: {name}")))?.result;
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(call.finish(&parts.hooks, input, result, duration_ms).await)
}
