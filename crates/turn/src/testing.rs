//! A world for tests that answers everything in the plainest way, unless a test says otherwise.

use crate::{
    CallResult, Config, Effect, Gathered, HookAnswer, Input, Limits, ModelAnswer, Now, Prepared, Prompter, Role,
    Settings, Ticket, ToolFacts, ToolFinish, ToolTable, Turn, step,
};
use policy::{Decision, Verdict};
use serde_json::{Value, json};
use std::collections::VecDeque;
use wire::{Outcome, UserInput, UserMessage};

pub(crate) struct Plain<'a> {
    pub(crate) turn: Turn,
    pub(crate) effects: Vec<Effect>,
    /// Blocks of the model's answers, in order; afterwards it says "done".
    pub(crate) answers: VecDeque<Vec<Value>>,
    /// Answers that a test gives itself.
    pub(crate) special: Special<'a>,
    inputs: VecDeque<Input>,
}

/// What a test answers to an effect itself.
pub(crate) type Special<'a> = Box<dyn FnMut(&Effect) -> Option<Input> + 'a>;

pub(crate) fn config() -> Config {
    let mut tools = ToolTable::default();
    for (name, runs_beside_others, starts_subagent) in
        [("Bash", false, false), ("Read", true, false), ("Agent", true, true), ("StructuredOutput", false, false)]
    {
        tools.tools.insert(name.into(), ToolFacts { runs_beside_others, starts_subagent });
    }
    Config {
        role: Role::Main,
        settings: Settings { model: "m".into(), tools, prompter: Prompter::Somebody, ..Settings::default() },
        limits: Limits::default(),
        messages: Vec::new(),
        preamble: None,
        deferred: None,
        seed: (1, 2),
    }
}

pub(crate) fn prompt(text: &str) -> Input {
    Input::Prompt(Box::new(UserInput {
        message: UserMessage { content: json!(text), ..UserMessage::default() },
        ..UserInput::default()
    }))
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn call(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {"v": id}})
}

pub(crate) fn decision(verdict: Verdict, reason_type: &'static str) -> Decision {
    Decision { verdict, reason_type, reason: "A reason.".into(), rule: None, blocked_path: None, run: None }
}

impl<'a> Plain<'a> {
    pub(crate) fn new(config: Config, answers: Vec<Vec<Value>>) -> Self {
        Self {
            turn: Turn::new(config),
            effects: Vec::new(),
            answers: answers.into(),
            special: Box::new(|_| None),
            inputs: VecDeque::new(),
        }
    }

    pub(crate) fn special(mut self, special: impl FnMut(&Effect) -> Option<Input> + 'a) -> Self {
        self.special = Box::new(special);
        self
    }

    /// Takes an input and everything that follows from it.
    pub(crate) fn feed(&mut self, input: Input) {
        self.inputs.push_back(input);
        while let Some(input) = self.inputs.pop_front() {
            for effect in step(&mut self.turn, input, Now::default()) {
                let answer = (self.special)(&effect);
                match answer {
                    Some(input) => self.inputs.push_back(input),
                    None => self.answer(&effect),
                }
                self.effects.push(effect);
            }
        }
    }

    /// One turn; its result.
    pub(crate) fn ask(&mut self, text: &str) -> Outcome {
        self.feed(prompt(text));
        self.feed(Input::Next);
        self.outcome()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let mut outcomes = self.effects.iter().filter_map(|effect| match effect {
            Effect::EndTurn { outcome } => Some((**outcome).clone()),
            _ => None,
        });
        outcomes.next_back().expect("a result")
    }

    /// Results of calls as clients see them: id and text.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let blocks = self.turn.messages();
        let blocks = blocks.iter().flat_map(|message| message["content"].as_array().into_iter().flatten());
        let results = blocks.filter(|block| block["type"] == "tool_result");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        results.map(|block| (text(&block["tool_use_id"]), text(&block["content"]))).collect()
    }

    /// Inputs with which tools have run.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let inputs = self.effects.iter().filter_map(|effect| match effect {
            Effect::RunTool { input, .. } | Effect::StartAgent { input, .. } => Some(input.clone()),
            _ => None,
        });
        inputs.collect()
    }

    fn answer(&mut self, effect: &Effect) {
        let hook = || Box::new(HookAnswer::default());
        let input = match effect.clone() {
            Effect::Prepare { ticket, .. } => Input::Prepared { ticket, prepared: Box::new(Prepared::default()) },
            Effect::Gather { ticket, .. } => Input::Gathered { ticket, gathered: Box::new(Gathered::default()) },
            Effect::FireHook { ticket, .. } => Input::HookAnswered { ticket, answer: hook() },
            Effect::CheckInput { ticket, input, .. } => Input::InputChecked { ticket, checked: Ok(input) },
            Effect::Judge { ticket, .. } => {
                Input::Judged { ticket, decision: decision(Verdict::Allow, "mode"), suggestions: Vec::new() }
            }
            Effect::ApplyUpdates { ticket, .. } => Input::UpdatesApplied { ticket },
            Effect::RunTool { ticket, .. } => {
                let finish = ToolFinish::from(CallResult::text("ran", json!("ran")));
                Input::ToolFinished { ticket, finish: Box::new(finish) }
            }
            Effect::StartAgent { ticket, .. } => {
                Input::AgentFinished { ticket, result: CallResult::text("answer", json!({})), stopped: false }
            }
            Effect::HideSecrets { ticket, result } => Input::SecretsHidden { ticket, result },
            Effect::Summarise { ticket, .. } => {
                Input::SummaryFinished { ticket, text: "summary".into(), preamble: None }
            }
            Effect::Cancel { ticket } => Input::Stopped { ticket },
            Effect::AskModel { ticket, .. } => return self.say(ticket),
            _ => return,
        };
        self.inputs.push_back(input);
    }

    fn say(&mut self, ticket: Ticket) {
        let blocks = self.answers.pop_front().unwrap_or_else(|| vec![text("done")]);
        self.inputs.push_back(Input::AnswerStarted { ticket, message: json!({"id": "msg"}), request_id: None });
        for block in blocks.clone() {
            self.inputs.push_back(Input::BlockFinished { ticket, block, bad_input: None, tool_use_meta: None });
        }
        let answer = ModelAnswer { blocks, stop_reason: Some("end_turn".into()), ..ModelAnswer::default() };
        self.inputs.push_back(Input::AnswerFinished { ticket, answer: Box::new(answer) });
    }
}
