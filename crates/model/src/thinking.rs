//! The thinking and effort fields of a request.
//!
//! Newer models decide for themselves (adaptive), older ones take a token budget, the oldest do neither.
//! Unset means the model's own default on adaptive models and no thinking on budget models: programs that
//! drive us count on not paying for it there.

use crate::catalog::{ModelInfo, ThinkingKind};
use serde_json::{Value, json};

/// The API takes no smaller budget.
const MIN_BUDGET: u64 = 1024;
/// Thinking between tool calls, where a model with a budget supports it.
const INTERLEAVED_BETA: &str = "interleaved-thinking-2025-05-14";
/// Goes with `output_config.effort`: newer models take the field without it, older ones do not.
pub(crate) const EFFORT_BETA: &str = "effort-2025-11-24";
/// From least to most.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// The values of `--thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    Adaptive,
    Disabled,
}

/// Everything that was said about thinking. `flag` beats the environment, the environment `flag_budget`.
#[derive(Debug, Clone, Default)]
pub struct ThinkingAsk {
    /// `--thinking`.
    pub flag: Option<Thinking>,
    /// `MAX_THINKING_TOKENS`.
    pub max_tokens_env: Option<u64>,
    /// `--max-thinking-tokens` or the control request of that name.
    pub flag_budget: Option<u64>,
    /// Settings `alwaysThinkingEnabled`.
    pub always: bool,
    /// `CLAUDE_CODE_DISABLE_THINKING`: say nothing about it at all.
    pub disabled_by_env: bool,
    /// `CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING`: a budget instead, where the model still takes one.
    pub adaptive_disabled_by_env: bool,
    /// `--thinking-display`.
    pub display: Option<String>,
    /// `CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS`: fields that every API takes, and no others.
    pub without_display: bool,
}

enum Wish {
    Unsaid,
    Off,
    On,
    Tokens(u64),
}

impl ThinkingAsk {
    fn wish(&self) -> Wish {
        match (self.flag, self.max_tokens_env.or(self.flag_budget)) {
            (Some(Thinking::Disabled), _) | (None, Some(0)) => Wish::Off,
            (_, Some(tokens)) if tokens > 0 => Wish::Tokens(tokens),
            (Some(Thinking::Adaptive), _) => Wish::On,
            (None, _) if self.always => Wish::On,
            (None, _) => Wish::Unsaid,
        }
    }
}

/// The request's `thinking`, or nothing to send.
pub fn thinking(info: &ModelInfo, ask: &ThinkingAsk, max_tokens: u64) -> Option<Value> {
    let mut said = with_display(info, ask, max_tokens)?;
    if let Some(fields) = said.as_object_mut().filter(|_| ask.without_display || info.without_display) {
        fields.shift_remove("display");
    }
    Some(said)
}

fn with_display(info: &ModelInfo, ask: &ThinkingAsk, max_tokens: u64) -> Option<Value> {
    if ask.disabled_by_env {
        return None;
    }
    let display = ask.display.as_deref().unwrap_or("omitted");
    let budget_instead = info.also_takes_budget && ask.adaptive_disabled_by_env;
    let kind = if budget_instead { ThinkingKind::Budget } else { info.thinking };
    match (kind, ask.wish()) {
        (ThinkingKind::None, _)
        | (ThinkingKind::Budget, Wish::Unsaid)
        | (ThinkingKind::AdaptiveOrAbsent, Wish::Off) => None,
        (ThinkingKind::Budget | ThinkingKind::Adaptive, Wish::Off) => Some(json!({"type": "disabled"})),
        (ThinkingKind::Budget, Wish::On) => budget(u64::MAX, max_tokens, display),
        (ThinkingKind::Budget, Wish::Tokens(tokens)) => budget(tokens, max_tokens, display),
        (ThinkingKind::Adaptive | ThinkingKind::AdaptiveAlways | ThinkingKind::AdaptiveOrAbsent, _) => {
            Some(json!({"type": "adaptive", "display": display}))
        }
    }
}

/// A budget must leave room for the answer; where there is no room for both there is no thinking.
fn budget(tokens: u64, max_tokens: u64, display: &str) -> Option<Value> {
    let most = max_tokens.saturating_sub(1);
    (most >= MIN_BUDGET)
        .then(|| json!({"budget_tokens": tokens.clamp(MIN_BUDGET, most), "type": "enabled", "display": display}))
}

/// The betas that go with a `thinking` and an effort of ours.
pub fn request_betas(info: &ModelInfo, thinking: Option<&Value>, effort: Option<&str>) -> Vec<String> {
    let budgeted = thinking.is_some_and(|thinking| thinking["type"] == "enabled");
    let interleaved = (budgeted && info.interleaves).then_some(INTERLEAVED_BETA);
    let effort = effort.map(|_| EFFORT_BETA);
    interleaved.into_iter().chain(effort).map(str::to_owned).collect()
}

/// The effort to send: what was asked for, or the next lower level that the model has, or its default.
pub fn effort(info: &ModelInfo, asked: Option<&str>) -> Option<String> {
    let Some(rank) = asked.and_then(rank) else { return info.default_effort.clone() };
    let supported = |level: &&&str| info.effort_levels.iter().any(|known| known == **level);
    let lower = EFFORTS[..=rank].iter().rev().find(supported);
    lower.or_else(|| EFFORTS.iter().find(supported)).map(|level| (*level).to_owned())
}

/// The same effort, lowered where the API refuses it beside disabled thinking.
pub fn effort_beside(info: &ModelInfo, thinking: Option<&Value>, effort: Option<String>) -> Option<String> {
    let off = thinking.is_some_and(|thinking| thinking["type"] == "disabled");
    let ceiling = info.max_effort_without_thinking.as_ref().filter(|_| off);
    let too_much = |ceiling: &&String| effort.as_deref().and_then(rank) > rank(ceiling);
    match ceiling.filter(too_much) {
        Some(ceiling) => Some(ceiling.clone()),
        None => effort,
    }
}

fn rank(level: &str) -> Option<usize> {
    let level = level.trim().to_ascii_lowercase();
    // `ultracode` is a way of working on top of this level, not a level the API knows.
    let level = if level == "ultracode" { "xhigh" } else { &level };
    EFFORTS.iter().position(|known| *known == level)
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
