//! The end of a turn: the agent's result as a stop reason, or as an error.

use crate::rpc::{RpcError, code};
use serde_json::{Value, json};
use wire::Outcome;

/// The answer to `session/prompt`.
pub(crate) fn ending(outcome: &Outcome, is_cancelled: bool) -> Result<Value, RpcError> {
    if is_cancelled {
        return Ok(stop("cancelled"));
    }
    let status = outcome.api_error_status.flatten();
    // The protocol has its own words for these, whatever else the result says.
    if let Some(reason @ ("max_tokens" | "refusal")) = outcome.stop_reason.as_deref().filter(|_| status.is_none()) {
        return Ok(stop(reason));
    }
    if outcome.is_error() && (status.is_some() || outcome.subtype == "success") {
        return Err(api_error(status, &outcome.text()));
    }
    match outcome.subtype.as_ref() {
        "success" => Ok(stop("end_turn")),
        "error_max_turns" | "error_max_budget_usd" | "error_max_structured_output_retries" => {
            Ok(stop("max_turn_requests"))
        }
        // Interrupted, though nobody here asked for it: by a hook, or by a signal.
        _ if matches!(outcome.terminal_reason.as_ref(), "aborted_streaming" | "aborted_tools") => Ok(stop("cancelled")),
        subtype => {
            let text = outcome.text();
            let text = if text.is_empty() { format!("the agent ended the turn with {subtype}") } else { text };
            Err(RpcError::internal(text).with(json!({"errorKind": subtype})))
        }
    }
}

pub(crate) fn stop(reason: &str) -> Value {
    json!({"stopReason": reason})
}

/// How agents ask for a login in their answers.
const LOGIN_WORDS: [&str; 4] = ["/login", "Not logged in", "Invalid API key", "authentication_error"];

fn api_error(status: Option<u16>, text: &str) -> RpcError {
    if matches!(status, Some(401 | 403)) || LOGIN_WORDS.iter().any(|words| text.contains(words)) {
        return RpcError::new(code::NO_LOGIN, text).with(json!({"errorKind": "authentication_required"}));
    }
    let kind = match status {
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        Some(400..=499) => "invalid_request",
        Some(500..) => "server_error",
        _ => "unknown",
    };
    let text = if text.is_empty() { "the model could not be asked" } else { text };
    RpcError::internal(text).with(json!({"errorKind": kind}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::FromMap as _;

    #[test]
    fn results_are_stop_reasons_or_errors() {
        for (result, expected) in [
            (json!({"subtype": "success", "stop_reason": "end_turn"}), Ok("end_turn")),
            (json!({"subtype": "success", "stop_reason": "max_tokens"}), Ok("max_tokens")),
            (json!({"subtype": "success", "stop_reason": "refusal"}), Ok("refusal")),
            (json!({"subtype": "success", "is_error": true, "stop_reason": "refusal"}), Ok("refusal")),
            (
                json!({"subtype": "error_during_execution", "is_error": true, "stop_reason": "max_tokens"}),
                Ok("max_tokens"),
            ),
            (json!({"subtype": "error_max_turns", "is_error": true}), Ok("max_turn_requests")),
            (
                json!({"subtype": "error_during_execution", "is_error": false, "terminal_reason": "aborted_tools"}),
                Ok("cancelled"),
            ),
            (
                json!({"subtype": "error_during_execution", "is_error": true, "terminal_reason": "model_error"}),
                Err((code::INTERNAL, "error_during_execution")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "api_error_status": 401, "result": "no"}),
                Err((code::NO_LOGIN, "authentication_required")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "result": "Not logged in"}),
                Err((code::NO_LOGIN, "authentication_required")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "api_error_status": 429, "result": "no"}),
                Err((code::INTERNAL, "rate_limit")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "api_error_status": 529, "result": "no"}),
                Err((code::INTERNAL, "overloaded")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "api_error_status": 400, "result": "no"}),
                Err((code::INTERNAL, "invalid_request")),
            ),
            (
                json!({"subtype": "success", "is_error": true, "api_error_status": 500, "result": "no"}),
                Err((code::INTERNAL, "server_error")),
            ),
        ] {
            let Value::Object(map) = result.clone() else { panic!("an object") };
            let outcome = Outcome::from_map(map);
            let found = ending(&outcome, false);
            match expected {
                Ok(reason) => assert_eq!(found, Ok(stop(reason)), "{result}"),
                Err((code, kind)) => {
                    let error = found.unwrap_err();
                    assert_eq!((error.code, &error.data.unwrap()["errorKind"]), (code, &json!(kind)), "{result}");
                }
            }
            assert_eq!(ending(&outcome, true), Ok(stop("cancelled")), "{result}");
        }
    }
}
