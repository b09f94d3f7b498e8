//! After a tool has run: hooks may add to its result, replace it, or stop the run.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::hearing;
use crate::hooks::HookEvent;
use crate::shared::{Lane, Shared};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tools::{Content, Outcome};

/// The result as the PostToolUse hooks leave it.
pub async fn heard(
    shared: &Shared,
    lane: &Lane,
    call: &ToolCall,
    input: &Value,
    mut done: Done,
    took: Duration,
) -> Done {
    let failed = done.outcome.is_error();
    let event = if failed { HookEvent::PostToolUseFailure } else { HookEvent::PostToolUse };
    let mut fields = Map::new();
    fields.insert("tool_name".into(), json!(call.name));
    fields.insert("tool_input".into(), input.clone());
    fields.insert("tool_use_id".into(), json!(call.id));
    fields.insert("duration_ms".into(), json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
    if failed {
        fields.insert("error".into(), shared.secrets.hide_value(json!(text_of(&done.outcome))));
        fields.insert("is_interrupt".into(), json!(false));
    } else {
        fields.insert("tool_response".into(), shared.secrets.hide_value(done.outcome.structured.clone()));
    }
    let verdict = hearing::fire(shared, lane, event, Some(&call.name), fields, Some(&call.id)).await;
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
    Outcome { content, structured: output, flag: outcome.flag }
}
