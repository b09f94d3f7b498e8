//! What the model says, or why it says nothing.

use crate::world::World;
use serde_json::{Value, json};
use std::collections::VecDeque;
use turn::{FailureSource, Input, ModelAnswer, ModelFailure, Reset, Ticket};
use wire::Usage;

/// The plainest first; what makes work for the machine is drawn more often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Call,
    Calls,
    Thinking,
    TooLong,
    Pause,
    Refusal,
    Cut,
    Empty,
    Overflow,
    Failure,
    RepeatedId,
    BadInput,
    BlankText,
    Structured,
    Agents,
}

const KINDS: [Kind; 26] = [
    Kind::Text,
    Kind::Call,
    Kind::Calls,
    Kind::Calls,
    Kind::Calls,
    Kind::Call,
    Kind::Text,
    Kind::Thinking,
    Kind::TooLong,
    Kind::Pause,
    Kind::Refusal,
    Kind::Cut,
    Kind::Empty,
    Kind::Overflow,
    Kind::Failure,
    Kind::Failure,
    Kind::RepeatedId,
    Kind::BadInput,
    Kind::BlankText,
    Kind::Structured,
    Kind::Structured,
    Kind::Agents,
    Kind::Agents,
    Kind::Calls,
    Kind::Call,
    Kind::Cut,
];

pub const TOOLS: [&str; 8] = ["Read", "Grep", "Bash", "Edit", "Skill", "mcp__x__y", "Task", "Gone"];

impl World {
    /// One answer as the inputs that it arrives in.
    pub fn stream(&mut self, ticket: Ticket) -> VecDeque<Input> {
        let kind = KINDS[self.pick(KINDS.len())];
        let mut inputs = VecDeque::new();
        if kind == Kind::Failure {
            inputs.push_back(Input::ModelFailed { ticket, failure: Box::new(self.failure()) });
            return inputs;
        }
        let (blocks, bad) = self.blocks(kind);
        let number = self.number();
        let message = json!({"id": format!("msg_{number}"), "model": "m", "usage": {"input_tokens": 1}});
        inputs.push_back(Input::AnswerStarted { ticket, message, request_id: None });
        for (at, block) in blocks.iter().enumerate() {
            let bad_input = bad.filter(|bad| *bad == at).map(|_| "{\"v\": ".to_owned());
            inputs.push_back(Input::BlockFinished { ticket, block: block.clone(), bad_input, tool_use_meta: None });
        }
        let stop_reason = match kind {
            Kind::TooLong => "max_tokens",
            Kind::Pause => "pause_turn",
            Kind::Refusal => "refusal",
            Kind::Overflow => "model_context_window_exceeded",
            _ => "end_turn",
        };
        let tokens = self.pick(150) as u64;
        let answer = ModelAnswer {
            blocks,
            stop_reason: (kind != Kind::Cut).then(|| stop_reason.to_owned()),
            usage: Usage { input_tokens: tokens, ..Usage::default() },
            incomplete: kind == Kind::Cut,
            ..ModelAnswer::default()
        };
        inputs.push_back(Input::AnswerFinished { ticket, answer: Box::new(answer) });
        inputs
    }

    fn blocks(&mut self, kind: Kind) -> (Vec<Value>, Option<usize>) {
        let number = self.number();
        let text = json!({"type": "text", "text": format!("text {number}")});
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let mut bad = None;
        let blocks = match kind {
            Kind::Text | Kind::TooLong | Kind::Refusal | Kind::Overflow | Kind::Failure => vec![text],
            Kind::Thinking => vec![thinking, text],
            Kind::Pause => vec![text, json!({"type": "server_tool_use", "id": format!("srv{number}"), "name": "w"})],
            Kind::Empty => [vec![], vec![thinking], vec![json!({"type": "text", "text": " "})]][self.pick(3)].clone(),
            Kind::Cut => match self.pick(3) {
                0 => vec![text],
                1 => vec![text, self.tool_use()],
                _ => vec![thinking],
            },
            Kind::Call => vec![text, self.tool_use()],
            Kind::Calls => (0..2 + self.pick(3)).map(|_| self.tool_use()).collect(),
            Kind::Agents => (0..=self.pick(3)).map(|_| self.tool_use_of("Agent")).collect(),
            Kind::Structured => vec![self.tool_use_of(turn::STRUCTURED_OUTPUT)],
            Kind::BlankText => vec![json!({"type": "text", "text": ""}), self.tool_use()],
            Kind::BadInput => {
                bad = Some(1);
                vec![text, self.tool_use()]
            }
            Kind::RepeatedId => {
                let mut one = self.tool_use();
                one["id"] = json!("t_again");
                vec![text, one]
            }
        };
        (blocks, bad)
    }

    fn tool_use(&mut self) -> Value {
        let name = TOOLS[self.pick(TOOLS.len())];
        self.tool_use_of(name)
    }

    fn tool_use_of(&mut self, name: &str) -> Value {
        let number = self.number();
        let mut input = json!({"v": number});
        if matches!(name, "Agent" | "Task") {
            // Most are waited for; some calls say nothing of it.
            match self.pick(6) {
                0 => input["run_in_background"] = json!(true),
                1 => input["run_in_background"] = json!(false),
                _ => {}
            }
        }
        json!({"type": "tool_use", "id": format!("t{number}"), "name": name, "input": input})
    }

    pub fn failure(&mut self) -> ModelFailure {
        let kinds: [(Option<u16>, &'static str, bool, bool); 7] = [
            (Some(400), "invalid_request", false, false),
            (Some(401), "authentication_failed", false, false),
            (Some(529), "overloaded", false, true),
            (Some(500), "server_error", false, false),
            (Some(404), "model_not_found", false, false),
            (Some(400), "invalid_request", true, false),
            (Some(429), "rate_limit", false, false),
        ];
        let (status, category, prompt_too_long, overloaded) = kinds[self.pick(kinds.len())];
        ModelFailure {
            api_type: None,
            source: FailureSource::Http,
            status,
            category,
            message: "no".into(),
            reset: (category == "rate_limit").then(|| Reset { seconds: 1, time_of_day: "1am".into() }),
            api_ms: 1,
            prompt_too_long,
            overloaded,
        }
    }
}
