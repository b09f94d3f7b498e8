//! Sums over the output of one agent. Bounded for any length of output.

use crate::{LimitHit, Outage, Question, Tokens};
use serde_json::Value;
use std::collections::VecDeque;

/// Windows are larger for some models; agents that say so are believed.
pub(crate) const CONTEXT_WINDOW: u64 = 200_000;

/// An agent's `result`: the end of one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentResult {
    pub is_error: bool,
    pub subtype: String,
    pub text: String,
    pub structured: Option<Value>,
    /// Of the API, where it was the reason.
    pub status: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentOutput {
    pub session: Option<String>,
    pub model: Option<String>,
    /// The last words of the main agent.
    pub last_text: String,
    /// Turns that ended.
    pub turns: u32,
    /// The last turn's end.
    pub answer: Option<AgentResult>,
    pub tokens: Tokens,
    /// What the agent said, and our estimate of what came after it said so.
    pub cost_usd: f64,
    /// A cost was absent, negative, or less than before: what is known is a lower bound.
    pub cost_doubtful: bool,
    pub tool_calls: u64,
    pub limit: Option<LimitHit>,
    /// The API could not be used when the agent last tried.
    pub outage: Option<Outage>,
    /// The agent has named its cost at least once.
    pub cost_reported: bool,
    /// Asked by the main agent and not answered.
    pub question: Option<Question>,
    pub context_tokens: u64,
    pub context_window: u64,
    /// A turn has begun and not ended.
    pub(crate) is_in_turn: bool,
    /// Sub-agents in the background, as the agent last told.
    pub(crate) agents_at_work: usize,
    messages: VecDeque<(String, Tokens)>,
    counted: Tokens,
    reported: Tokens,
    reported_usd: f64,
    estimated_usd: f64,
}

/// Several lines of one message share its id and come close together.
const MESSAGES_KEPT: usize = 64;

impl AgentOutput {
    /// The words to look for a promise in: the turn's answer, or the last thing said.
    pub fn final_text(&self) -> &str {
        match &self.answer {
            Some(answer) if !answer.text.trim().is_empty() => &answer.text,
            _ => &self.last_text,
        }
    }

    /// Whether the agent has something left to do although a turn has ended: another turn, or agents of its own, whose end begins one.
    pub fn is_busy(&self) -> bool {
        self.is_in_turn || self.agents_at_work > 0
    }

    /// Whether the cost is known, from the agent or by our prices.
    pub(crate) fn knows_cost(&self) -> bool {
        self.cost_reported || self.tokens.total() > 0
    }

    /// Whether our estimate is part of the cost.
    pub fn is_estimate(&self) -> bool {
        self.estimated_usd > 0.0
    }

    /// A message's usage comes with each of its blocks, and grows: counted once, at its largest. Agents that
    /// give no ids tell each message once. What is new.
    pub(crate) fn count_message(&mut self, id: Option<&str>, usage: Tokens) -> Tokens {
        let before = self.counted;
        let known = id.and_then(|id| self.messages.iter_mut().find(|(known, _)| known == id));
        if let Some((_, before)) = known {
            let grown = most(*before, usage);
            self.counted = self.counted.plus(grown.since(*before));
            *before = grown;
        } else {
            self.counted = self.counted.plus(usage);
            self.messages.extend(id.map(|id| (id.to_owned(), usage)));
            if self.messages.len() > MESSAGES_KEPT {
                self.messages.pop_front();
            }
        }
        self.tokens = most(self.counted, self.reported);
        self.counted.since(before)
    }

    /// What a result says of the whole process so far; sub-agents are in it. What no message had told.
    pub(crate) fn count_reported(&mut self, usage: Tokens) -> Tokens {
        let before = self.tokens;
        self.reported = most(self.reported, usage);
        self.tokens = most(self.counted, self.reported);
        self.tokens.since(before)
    }

    /// What the agent has reported, and this as well.
    pub(crate) fn cost_with(&self, new_usd: f64) -> f64 {
        self.reported_usd + new_usd
    }

    pub(crate) fn tokens_with(&self, new: Tokens) -> Tokens {
        self.reported.plus(new)
    }

    /// A process reports its cost as a sum that only grows. Anything else is not believed. Whether it was.
    pub(crate) fn count_cost(&mut self, cost: Option<f64>) -> bool {
        let believed = cost.filter(|cost| cost.is_finite() && *cost >= self.reported_usd);
        match believed {
            Some(cost) => {
                self.reported_usd = cost;
                self.cost_reported = true;
                self.estimated_usd = 0.0;
                self.cost_usd = cost;
            }
            None => self.cost_doubtful = true,
        }
        believed.is_some()
    }

    /// Until the agent says what it cost, its messages are priced as they come.
    pub(crate) fn estimate(&mut self, usd: f64) {
        if usd.is_finite() && usd > 0.0 {
            self.estimated_usd += usd;
            self.cost_usd = self.reported_usd + self.estimated_usd;
        }
    }
}

fn most(one: Tokens, other: Tokens) -> Tokens {
    Tokens {
        input: one.input.max(other.input),
        output: one.output.max(other.output),
        cache_read: one.cache_read.max(other.cache_read),
        cache_write: one.cache_write.max(other.cache_write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adversary_51_strange_costs_never_lower_or_break_the_sum() {
        for (costs, sum, doubtful) in [
            (vec![Some(0.5), Some(0.75)], 0.75, false),
            (vec![Some(0.5), None], 0.5, true),
            (vec![Some(0.5), Some(-3.0)], 0.5, true),
            (vec![Some(0.5), Some(0.25)], 0.5, true),
            (vec![Some(f64::NAN)], 0.0, true),
            (vec![Some(f64::INFINITY)], 0.0, true),
        ] {
            let mut output = AgentOutput::default();
            for cost in &costs {
                output.count_cost(*cost);
            }
            assert!((output.cost_usd - sum).abs() < 1e-9 && output.cost_doubtful == doubtful, "{costs:?}: {output:?}");
        }
    }

    #[test]
    fn an_estimate_holds_until_the_agent_says_what_it_cost_and_starts_anew_after_it() {
        let mut output = AgentOutput::default();
        output.estimate(0.5);
        output.estimate(f64::NAN);
        output.estimate(-1.0);
        assert!(output.is_estimate() && (output.cost_usd - 0.5).abs() < 1e-9);
        assert!(output.count_cost(Some(0.4)), "an estimate is no bound");
        assert!(!output.is_estimate() && (output.cost_usd - 0.4).abs() < 1e-9);
        output.estimate(0.1);
        assert!(!output.count_cost(None) && (output.cost_usd - 0.5).abs() < 1e-9, "{output:?}");
    }

    #[test]
    fn a_message_of_several_lines_counts_once() {
        let mut output = AgentOutput::default();
        let usage = |input, output| Tokens { input, output, ..Tokens::default() };
        assert_eq!(output.count_message(Some("a"), usage(100, 1)), usage(100, 1));
        assert_eq!(output.count_message(Some("a"), usage(100, 40)), usage(0, 39));
        output.count_message(Some("b"), usage(50, 2));
        assert_eq!(output.tokens, usage(150, 42));
        assert_eq!(output.count_reported(usage(150, 60)), usage(0, 18));
        assert_eq!(output.tokens, usage(150, 60));
        output.count_message(None, usage(1, 20));
        output.count_message(None, usage(1, 20));
        assert_eq!(output.tokens, usage(152, 82), "messages without ids are each their own");
    }
}
