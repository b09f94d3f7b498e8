//! How a turn ended, and the one result that says so.

use crate::books::Books;
use crate::effect::{SubagentResult, SubagentStatus};
use crate::input::CallResult;
use crate::model_answer::{FailureSource, ModelFailure};
use crate::next::GiveUp;
use crate::words;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wire::Outcome;

#[derive(Debug, Clone)]
pub(crate) enum End {
    Done,
    MaxTurns(u32),
    Budget(f64),
    SchemaRetries(u32),
    GaveUp(GiveUp),
    Api(Box<ModelFailure>),
    /// While the model was speaking, or while a tool ran.
    Interrupted {
        streaming: bool,
    },
    /// A hook said that the run should not go on.
    HookStopped(String),
    /// A hook put this call off.
    Deferred(Value),
    /// A call that was put off is for a tool that is not here any more.
    DeferredGone(String),
    /// The tool that should answer permission questions is not there.
    NoPrompter(String),
    /// The prompt was a command that does not exist or failed.
    BadCommand(String),
    /// A hook refused the prompt: the words that clients were told.
    PromptRefused(String),
    /// A fault of ours.
    Internal(String),
}

const SUCCESS: &str = "success";

/// The result. Costs are the runtime's to fill in.
pub(crate) fn outcome(books: &mut Books, end: &End, denials: Vec<Value>, now_ms: u64) -> Outcome {
    let shape = Shape::of(books, end);
    Outcome {
        subtype: shape.subtype.into(),
        is_error: Some(shape.is_error),
        duration_ms: books.elapsed_ms(now_ms),
        duration_api_ms: books.api_ms,
        num_turns: books.messages(),
        result: shape.result,
        errors: shape.errors,
        stop_reason: books.stop_reason.clone(),
        total_cost_usd: Some(0.0),
        usage: books.usage.clone().into(),
        model_usage: BTreeMap::new(),
        permission_denials: denials,
        deferred_tool_use: match end {
            End::Deferred(call) => Some(call.clone()),
            _ => None,
        },
        structured_output: books.structured.clone().filter(|_| shape.subtype == SUCCESS),
        api_error_status: shape.api_error_status,
        terminal_reason: shape.terminal_reason.into(),
        fast_mode_state: "off".into(),
        origin: books.origin.clone(),
        ttft_ms: books.ttft_ms,
        ttft_stream_ms: books.ttft_stream_ms,
        time_to_request_ms: books.time_to_request_ms,
        ..Outcome::default()
    }
}

struct Shape {
    subtype: &'static str,
    is_error: bool,
    result: Option<String>,
    errors: Option<Vec<String>>,
    #[expect(clippy::option_option, reason = "null and absent are different on the wire")]
    api_error_status: Option<Option<u16>>,
    terminal_reason: &'static str,
}

impl Shape {
    fn of(books: &mut Books, end: &End) -> Self {
        match end {
            End::Done => Self::said(false, final_text(books), None, "completed"),
            End::Api(failure) => Self::said(true, reason(end), failure.status, "api_error"),
            End::GaveUp(GiveUp::Refused) => Self::said(true, reason(end), None, "model_error"),
            End::HookStopped(_) => Self::said(false, final_text(books), None, "hook_stopped"),
            End::Deferred(_) => Self::said(false, final_text(books), None, "tool_deferred"),
            End::DeferredGone(_) => Self::error("error_during_execution", end, "tool_deferred_unavailable"),
            End::BadCommand(_) => Self::said(true, reason(end), None, "turn_setup_failed"),
            End::PromptRefused(words) => Self::said(false, words.clone(), None, "hook_stopped"),
            End::MaxTurns(_) => Self::error("error_max_turns", end, "max_turns"),
            End::Budget(_) => Self::error("error_max_budget_usd", end, "budget_exhausted"),
            End::SchemaRetries(_) => {
                Self::error("error_max_structured_output_retries", end, "structured_output_retry_exhausted")
            }
            End::GaveUp(GiveUp::Overflow) => Self::error("error_during_execution", end, "prompt_too_long"),
            End::GaveUp(_) => Self::error("error_during_execution", end, "model_error"),
            End::Internal(_) | End::NoPrompter(_) => Self::error("error_during_execution", end, "turn_setup_failed"),
            End::Interrupted { streaming } => {
                let reason = if *streaming { "aborted_streaming" } else { "aborted_tools" };
                Self::error("error_during_execution", end, reason)
            }
        }
    }

    fn said(is_error: bool, result: String, status: Option<u16>, terminal_reason: &'static str) -> Self {
        let (result, api_error_status) = (Some(result), Some(status));
        Self { subtype: SUCCESS, is_error, result, errors: None, api_error_status, terminal_reason }
    }

    fn error(subtype: &'static str, end: &End, terminal_reason: &'static str) -> Self {
        let errors = Some(vec![reason(end)]);
        Self { subtype, is_error: true, result: None, errors, api_error_status: None, terminal_reason }
    }
}

/// The answer: the structured value where one was asked for, else the last thing said. Taken, not copied: it may be
/// megabytes, and the turn is over.
fn final_text(books: &mut Books) -> String {
    books.structured.as_ref().map_or_else(|| std::mem::take(&mut books.last_text), ToString::to_string)
}

/// Loops look for the first words to know that waiting helps, and read the time out of them.
fn api_words(failure: &ModelFailure) -> String {
    match failure.reset.as_ref().filter(|_| failure.category == "rate_limit") {
        Some(reset) => {
            format!("You've hit your limit · resets {} · API Error: {}", reset.time_of_day, failure.message)
        }
        // Nothing was sent, so the API has no part in the error.
        None if failure.source == FailureSource::Setup => failure.message.clone(),
        None => format!("API Error: {}", failure.message),
    }
}

/// Why a turn did not end well, for people.
pub(crate) fn reason(end: &End) -> String {
    match end {
        End::Done | End::Deferred(_) => String::new(),
        End::DeferredGone(tool) => {
            format!("The call that was put off is for {tool}, which is not available in this run.")
        }
        End::MaxTurns(most) => format!("Reached maximum number of turns ({most})"),
        End::Budget(limit) => format!("Reached maximum budget (${limit})"),
        End::SchemaRetries(0) => GiveUp::Schema.words().into(),
        End::SchemaRetries(tries) => {
            format!("No structured output fitted the schema in {tries} tries")
        }
        End::GaveUp(why) => why.words().into(),
        End::Api(failure) => api_words(failure),
        End::Interrupted { .. } => "The turn was interrupted".into(),
        End::BadCommand(what) | End::HookStopped(what) | End::NoPrompter(what) | End::PromptRefused(what) => {
            what.clone()
        }
        End::Internal(what) => format!("Internal error: {what}. The session can be resumed; please report this."),
    }
}

/// What a sub-agent's turn came to, for whoever waits for it.
pub(crate) fn subagent_result(
    books: &Books,
    end: &End,
    agent_id: &str,
    task: &str,
    most: usize,
    now_ms: u64,
) -> SubagentResult {
    let status = match end {
        End::Done => SubagentStatus::Completed,
        End::Interrupted { .. } => SubagentStatus::Stopped,
        _ => SubagentStatus::Failed,
    };
    let text = bounded(&books.last_text, most);
    let (elapsed, tokens) = (books.elapsed_ms(now_ms), books.usage.context_tokens());
    let result = match end {
        End::Done | End::MaxTurns(_) if !text.trim().is_empty() => {
            let trailer = format!(
                "\n\n[agent {agent_id}: {} tool calls, {tokens} tokens, {:.1} s]",
                books.tool_uses,
                elapsed as f64 / 1000.0
            );
            let structured = json!({
                "status": "completed",
                "prompt": task,
                "agentId": agent_id,
                "content": [{"type": "text", "text": text}],
                "totalToolUseCount": books.tool_uses,
                "totalDurationMs": elapsed,
                "totalTokens": tokens,
                "usage": books.usage,
            });
            CallResult::text(format!("{text}{trailer}"), structured)
        }
        End::Done => CallResult::error("The agent ended without an answer."),
        End::Interrupted { .. } => CallResult::error(words::INTERRUPTED_CALL),
        other => CallResult::error(format!("The agent failed: {}", reason(other))),
    };
    SubagentResult { result, status, totals: totals(books, now_ms), usage: books.usage.clone() }
}

/// How far an agent has come.
pub(crate) fn totals(books: &Books, now_ms: u64) -> Value {
    let tokens = books.usage.context_tokens();
    json!({"total_tokens": tokens, "tool_uses": books.tool_uses, "duration_ms": books.elapsed_ms(now_ms)})
}

fn bounded(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}\n[cut here: the full answer is in the agent's transcript]", &text[..end]),
    }
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
