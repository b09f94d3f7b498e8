//! After a tool has run: hooks may add to its result, replace it, or stop the run.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::hearing;
use crate::shared::{Lane, Shared};
use hooks::{PostToolUse, PostToolUseFailure};
use serde_json::{Value, json};
use std::time::Duration;
use tools::{Content, Outcome};

/// The result as the PostToolUse hooks leave it.
pub async fn run_post_hooks(
    shared: &Shared,
    lane: &Lane,
    call: &ToolCall,
    input: &Value,
    mut done: Done,
    took: Duration,
) -> Done {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let (tool_name, tool_use_id) = (call.name.as_str(), call.id.as_str());
    let verdict = if done.outcome.is_error() {
        let error = shared.secrets.hide_value(json!(text_of(&done.outcome)));
        let payload =
            PostToolUseFailure { tool_name, tool_input: input, tool_use_id, duration_ms, error, is_interrupt: false };
        hearing::fire(shared, lane, &payload).await
    } else {
        let tool_response = shared.secrets.hide_value(done.outcome.structured.clone());
        let payload = PostToolUse { tool_name, tool_input: input, tool_use_id, duration_ms, tool_response };
        hearing::fire(shared, lane, &payload).await
    };
    done.contexts.extend(verdict.contexts);
    done.contexts.extend(verdict.blocked);
    done.stop = done.stop.or(verdict.stop);
    if let Some(output) = verdict.updated_output {
        done.outcome = replaced(&done.outcome, output);
    }
    done
}

pub fn text_of(outcome: &Outcome) -> String {
    match &outcome.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => crate::conversation::text_of(&Value::Array(blocks.clone())),
    }
}

fn replaced(outcome: &Outcome, output: Value) -> Outcome {
    let content = match &output {
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(blocks) => Content::Blocks(blocks.clone()),
        other => Content::Text(other.to_string()),
    };
    Outcome::new(content, output, outcome.flag)
}
