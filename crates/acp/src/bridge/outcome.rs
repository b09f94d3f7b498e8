//! The end of a turn as the loop's `result`, with the cost where the agent reports one.

use super::failure;
use super::turn::Turn;
use crate::rpc::RpcError;
use serde_json::Value;
use wire::{Assistant, Event, ModelUsage, Outcome, Usage};

/// What the agent reports of money and tokens. Both are sums of the session.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// Before the first prompt: of a session that goes on.
    before: f64,
    usd: Option<f64>,
    tokens: Usage,
    has_tokens: bool,
    window: u64,
}

impl Cost {
    pub(super) fn update(&mut self, update: &Value, is_in_turn: bool) {
        if update["sessionUpdate"] != "usage_update" {
            return;
        }
        self.window = update["size"].as_u64().unwrap_or(self.window);
        let cost = &update["cost"];
        let is_usd = cost["currency"].as_str().is_none_or(|currency| currency.eq_ignore_ascii_case("USD"));
        if let Some(amount) = cost["amount"].as_f64().filter(|amount| is_usd && amount.is_finite() && *amount >= 0.0) {
            if is_in_turn {
                self.usd = Some(amount);
            } else {
                self.before = amount;
            }
        }
    }

    fn usd(&self) -> Option<f64> {
        self.usd.map(|usd| (usd - self.before).max(0.0))
    }

    /// Tokens of a turn's answer, or of `_meta.quota`. Whether there were any.
    fn count(&mut self, answer: &Value) -> bool {
        let count = |value: &Value, keys: [&str; 2]| keys.iter().find_map(|key| value[*key].as_u64()).unwrap_or(0);
        let quota = &answer["_meta"]["quota"]["token_count"];
        let usage = if answer["usage"].is_object() { &answer["usage"] } else { quota };
        let tokens = Usage {
            input_tokens: count(usage, ["inputTokens", "input_tokens"]),
            output_tokens: count(usage, ["outputTokens", "output_tokens"]),
            cache_read_input_tokens: count(usage, ["cachedReadTokens", "cached_read_tokens"]),
            cache_creation_input_tokens: count(usage, ["cachedWriteTokens", "cached_write_tokens"]),
            ..Usage::default()
        };
        let has_tokens = tokens.context_tokens() > 0;
        self.has_tokens |= has_tokens;
        self.tokens.add(&tokens);
        has_tokens
    }
}

pub(super) fn of_turn(turn: &Turn, answer: &Result<Value, RpcError>, cost: &Cost, model: Option<&str>) -> Outcome {
    let mut spent = Cost { before: cost.before, usd: cost.usd, window: cost.window, ..Cost::default() };
    let has_usage = answer.as_ref().is_ok_and(|answer| spent.count(answer));
    let mut outcome = match answer {
        _ if turn.is_cancelled() => stopped("the turn was cancelled", "aborted_streaming"),
        Err(error) => {
            let (status, text) = failure::of_error(error);
            failure(status, &text)
        }
        Ok(answer) => ended(turn, answer["stopReason"].as_str(), has_usage),
    };
    outcome.total_cost_usd = spent.usd();
    if has_usage {
        let usage = ModelUsage {
            input_tokens: spent.tokens.input_tokens,
            output_tokens: spent.tokens.output_tokens,
            cache_read_input_tokens: spent.tokens.cache_read_input_tokens,
            cache_creation_input_tokens: spent.tokens.cache_creation_input_tokens,
            cost_usd: spent.usd().unwrap_or(0.0),
            context_window: spent.window,
            ..ModelUsage::default()
        };
        outcome.model_usage.insert(model.unwrap_or("unknown").to_owned(), usage);
        outcome.usage = spent.tokens.into();
    }
    outcome.num_turns = turn.call_count + 1;
    outcome
}

/// The answer of a turn that ends with a tool call.
const SILENT: &str = "The agent said nothing after its last tool call.";

fn ended(turn: &Turn, reason: Option<&str>, has_usage: bool) -> Outcome {
    match reason {
        Some("end_turn") => {}
        Some("max_tokens") => return stopped("the agent's answer was cut off: too many tokens", "max_tokens"),
        Some("max_turn_requests") => return stopped("the agent has asked its model too often", "max_turns"),
        Some("refusal") => return stopped("the agent refused to go on", "refusal"),
        Some("cancelled") => return stopped("the agent stopped its turn itself", "aborted_streaming"),
        other => return stopped(&format!("the agent ended its turn with '{}'", other.unwrap_or("nothing")), "unknown"),
    }
    if let Some(status) = failure::in_answer(turn.last(), has_usage) {
        return failure(Some(status), turn.last());
    }
    if turn.last().trim().is_empty() && turn.call_count == 0 && !has_usage {
        return failure(None, "the agent ended its turn without a word");
    }
    Outcome {
        subtype: "success".into(),
        is_error: Some(false),
        // Never empty: the loop would look at earlier messages instead.
        result: Some(if turn.last().trim().is_empty() { SILENT.to_owned() } else { turn.last().to_owned() }),
        stop_reason: Some("end_turn".into()),
        api_error_status: Some(None),
        terminal_reason: "completed".into(),
        ..Outcome::default()
    }
}

fn stopped(text: &str, reason: &'static str) -> Outcome {
    Outcome {
        subtype: "error_during_execution".into(),
        is_error: Some(true),
        errors: Some(vec![text.to_owned()]),
        terminal_reason: reason.into(),
        ..Outcome::default()
    }
}

/// The model or the agent could not be used.
pub(super) fn failure(status: Option<u16>, text: &str) -> Outcome {
    Outcome {
        subtype: "success".into(),
        is_error: Some(true),
        result: Some(text.to_owned()),
        api_error_status: Some(status),
        terminal_reason: "model_error".into(),
        ..Outcome::default()
    }
}

/// An error of the API is also said as a message with its kind, as `claude` does.
pub(super) fn failed_message(outcome: &Outcome) -> Option<Event> {
    let kind = match outcome.api_error_status.flatten()? {
        401 | 403 => "authentication_failed",
        429 => "rate_limit",
        500..=599 => "server_error",
        _ => return None,
    };
    let message = serde_json::json!({"role": "assistant", "content": [{"type": "text", "text": outcome.text()}]});
    let event = Assistant { message: message.into(), error: Some(kind.into()), ..Assistant::default() };
    Some(Event::Assistant(Box::new(event)))
}
