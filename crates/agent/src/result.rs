//! The one result of a turn, from how it ended.

use crate::clock;
use crate::judge::GiveUp;
use crate::shared::Shared;
use crate::turn::{End, Turn};
use model::{Failure, FailureKind};
use serde_json::Value;
use wire::Outcome;

/// Builds it. `origin` says what started the turn, where that was not a plain prompt.
pub fn outcome(shared: &Shared, turn: &Turn, end: &End, origin: Option<Value>) -> Outcome {
    let shape = Shape::of(turn, end, shared.cancel.is_error());
    Outcome {
        subtype: shape.subtype.into(),
        is_error: Some(shape.is_error),
        duration_ms: turn.elapsed_ms(),
        duration_api_ms: turn.api_ms,
        num_turns: turn.num_turns(),
        result: shape.result,
        errors: shape.errors,
        stop_reason: turn.stop_reason.clone(),
        total_cost_usd: Some(shared.ledger.total_usd()),
        usage: turn.usage.clone().into(),
        model_usage: shared.ledger.by_model(),
        permission_denials: shared.live.denials.borrow().clone(),
        deferred_tool_use: match end {
            End::Deferred(call) => Some(call.clone()),
            _ => None,
        },
        structured_output: turn.structured.clone().filter(|_| shape.subtype == SUCCESS),
        api_error_status: shape.api_error_status,
        terminal_reason: shape.terminal_reason.into(),
        fast_mode_state: "off".into(),
        origin,
        ttft_ms: turn.ttft_ms,
        ttft_stream_ms: turn.ttft_stream_ms,
        time_to_request_ms: turn.time_to_request_ms,
        extra: wire::Extra::new(),
    }
}

const SUCCESS: &str = "success";

struct Shape {
    subtype: &'static str,
    is_error: bool,
    result: Option<String>,
    errors: Option<Vec<String>>,
    api_error_status: wire::NullableStatus,
    terminal_reason: &'static str,
}

impl Shape {
    fn of(turn: &Turn, end: &End, interrupt_is_error: bool) -> Self {
        match end {
            End::Done => Self::said(false, final_text(turn), None, "completed"),
            End::Api(failure) => Self::said(true, reason(end), failure.status, "api_error"),
            End::GaveUp(GiveUp::Refused) => Self::said(true, reason(end), None, "model_error"),
            End::HookStopped(_) => Self::said(false, final_text(turn), None, "hook_stopped"),
            End::Deferred(_) => Self::said(false, final_text(turn), None, "tool_deferred"),
            End::DeferredGone(_) => Self::error("error_during_execution", end, "tool_deferred_unavailable"),
            End::BadCommand(_) => Self::said(true, reason(end), None, "turn_setup_failed"),
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
                Self { is_error: interrupt_is_error, ..Self::error("error_during_execution", end, reason) }
            }
        }
    }

    fn said(is_error: bool, result: String, status: Option<u16>, terminal_reason: &'static str) -> Self {
        Self {
            subtype: SUCCESS,
            is_error,
            result: Some(result),
            errors: None,
            api_error_status: Some(status),
            terminal_reason,
        }
    }

    fn error(subtype: &'static str, end: &End, terminal_reason: &'static str) -> Self {
        Self {
            subtype,
            is_error: true,
            result: None,
            errors: Some(vec![reason(end)]),
            api_error_status: None,
            terminal_reason,
        }
    }
}

/// The answer: the structured value where one was asked for, else the last thing said.
fn final_text(turn: &Turn) -> String {
    turn.structured.as_ref().map_or_else(|| turn.last_text.clone(), ToString::to_string)
}

/// Loops look for the first words to know that waiting helps, and read the time out of them.
fn api_words(failure: &Failure) -> String {
    match failure.reset_at.filter(|_| failure.category == "rate_limit") {
        Some(reset) => {
            format!("You've hit your limit · resets {} · API Error: {}", clock::time_of_day(reset), failure.message)
        }
        // Nothing was sent, so it is nobody's error but ours to explain.
        None if failure.kind == FailureKind::Setup => failure.message.clone(),
        None => format!("API Error: {}", failure.message),
    }
}

/// Why a turn did not end well, for people.
pub fn reason(end: &End) -> String {
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
        End::BadCommand(what) | End::HookStopped(what) | End::NoPrompter(what) => what.clone(),
        End::Internal(what) => format!("Internal error: {what}. The session can be resumed; please report this."),
    }
}
