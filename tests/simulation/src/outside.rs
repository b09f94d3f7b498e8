//! What happens from outside: prompts, interrupts, changes, the end. And how a world begins and comes to rest.

use crate::agent::{Agent, Parent};
use crate::model::TOOLS;
use crate::transcript::Scratch;
use crate::world::World;
use serde_json::{Value, json};
use turn::{
    Background, Change, Config, Input, InterruptCause, Limits, Prompter, Recall, Role, STRUCTURED_OUTPUT, Settings,
    Subagent, ToolFacts, ToolTable, Turn,
};
use wire::{PermissionMode, UserInput, UserMessage};

/// Prompts of one schedule.
const PROMPTS_MAX: usize = 6;

impl World {
    pub fn set_up(&mut self) {
        self.limits = Limits {
            max_answers: [None, Some(1), Some(3), Some(6)][self.pick(4)],
            budget_usd: [None, Some(0.02), Some(0.1)][self.pick(3)],
            schema_retries: [5, 1, 2][self.pick(3)],
            stop_blocks: [2, 0, 1][self.pick(3)],
            subagent_depth: [1, 0, 2][self.pick(3)],
            subagents_at_once: [4, 1, 2][self.pick(3)],
            subagent_output: 100,
            concurrency: [10, 1, 2][self.pick(3)],
        };
        let settings = self.settings();
        let config = Config {
            role: Role::Main,
            settings,
            limits: self.limits,
            messages: Vec::new(),
            preamble: self.preamble(),
            deferred: None,
            seed: (1, 2),
        };
        let turn = self.build(config);
        self.agents.push(Agent::new(turn, None));
    }

    /// The one place that may break a machine on purpose.
    #[expect(clippy::disallowed_methods, reason = "faults are what the simulation has to find")]
    fn build(&self, config: Config) -> Turn {
        let turn = Turn::new(config);
        match self.fault {
            Some(fault) => turn.with_fault(fault),
            None => turn,
        }
    }

    fn settings(&mut self) -> Settings {
        Settings {
            model: "first".into(),
            fallback: [vec![], vec!["second".to_owned(), "third".to_owned()]][self.pick(2)].clone(),
            tools: tools(&[]),
            prompter: [Prompter::Somebody, Prompter::Nobody][self.pick(2)],
            wants_structured: self.happens(25),
            compact_at: [None, Some(100)][self.pick(2)],
            shows_subagent_text: self.happens(20),
            replays_prompts: self.happens(20),
            setup_trigger: self.happens(10).then_some("init"),
            background: Background {
                is_allowed: !self.happens(20),
                is_default: self.happens(50),
                ..Background::default()
            },
            ..Settings::default()
        }
    }

    pub fn new_subagent(&mut self, depth: u32, parent: Parent) -> usize {
        let role = Role::Sub(Box::new(Subagent {
            agent_id: format!("a{}", self.agents.len()),
            tool_use_id: "call".into(),
            agent_type: "general-purpose".into(),
            description: "task".into(),
            depth,
            answers_a_hook: self.happens(10),
        }));
        let settings = self.settings();
        let seed = (7, self.agents.len() as u64);
        let limits = self.limits;
        let config =
            Config { role, settings, limits, messages: Vec::new(), preamble: self.preamble(), deferred: None, seed };
        let turn = self.build(config);
        self.agents.push(Agent::new(turn, Some(parent)));
        self.agents.len() - 1
    }

    pub fn something_happens(&mut self) -> Result<(), String> {
        let input = match self.pick(18) {
            0..=3 => return self.prompt(),
            4..=6 => Input::Interrupt(InterruptCause::Client),
            7 => {
                let modes = [PermissionMode::Default, PermissionMode::Plan, PermissionMode::AcceptEdits];
                Input::Changed(Change::Mode(modes[self.pick(3)]))
            }
            8 => {
                let gone = [&["Bash", "Agent"][..], &["Read"], &[]][self.pick(3)];
                Input::Changed(Change::Tools(tools(gone)))
            }
            9 => Input::Changed(Change::Model(format!("model {}", self.number()))),
            10 => Input::Changed(Change::CompactAt([Some(60), None, Some(0)][self.pick(3)])),
            11 => {
                self.agents[0].facts.accepted += 1;
                Input::Notice { text: format!("notice {}", self.number()) }
            }
            12 => Input::Recall([Recall::List, Recall::All, Recall::One("p1".into())][self.pick(3)].clone()),
            13 => Input::Changed(Change::TurnModel("chosen by a skill".into())),
            14 => Input::Changed(Change::Preamble(self.preamble())),
            15 => {
                self.agents[0].facts.accepted += 1;
                Input::GoOn
            }
            16 => match self.pick(4) {
                0 => Input::Broken { message: "a tool panicked".into() },
                1 => self.leave(),
                2 => {
                    let content = json!("context without a question");
                    Input::Prompt(Box::new(UserInput { should_query: Some(false), ..typed(content) }))
                }
                _ => Input::Changed(Change::Structured(self.happens(50))),
            },
            _ => return self.interrupt_subagent(),
        };
        self.feed(0, input)
    }

    /// A signal, a reader that left, the end of the session.
    fn leave(&mut self) -> Input {
        match self.pick(3) {
            0 | 1 if self.agents[0].facts.is_open => {
                self.is_leaving = true;
                Input::Interrupt([InterruptCause::Signal, InterruptCause::ReaderLeft][self.pick(2)])
            }
            _ => {
                self.is_leaving = true;
                self.stop_background();
                Input::Close { reason: "other" }
            }
        }
    }

    /// With the session everything ends.
    fn stop_background(&mut self) {
        for at in 1..self.agents.len() {
            if self.agents[at].is_alive {
                self.agents[at].was_told_to_stop = true;
                self.mail.push_back((at, Input::Interrupt(InterruptCause::Client)));
            }
        }
    }

    fn interrupt_subagent(&mut self) -> Result<(), String> {
        let alive: Vec<usize> = (1..self.agents.len()).filter(|at| self.agents[*at].is_alive).collect();
        if alive.is_empty() {
            return Ok(());
        }
        let at = alive[self.pick(alive.len())];
        self.feed(at, Input::Interrupt(InterruptCause::Client))
    }

    fn prompt(&mut self) -> Result<(), String> {
        let number = self.number();
        let text = format!("prompt {number}");
        let content = match self.pick(9) {
            0..=3 => json!(text),
            4 => json!([{"type": "text", "text": ""}, {"type": "text", "text": text}]),
            5 | 6 => json!(format!("/command {number}")),
            7 => [json!(" "), json!([]), json!([{"type": "tool_result", "tool_use_id": "x"}])][self.pick(3)].clone(),
            _ => json!([{"type": "tool_result", "tool_use_id": "x"}, {"type": "text", "text": text}]),
        };
        let uuid = match self.pick(4) {
            0 | 1 => None,
            2 => Some("p1".to_owned()),
            _ => Some(format!("00000000-0000-4000-8000-{:012}", self.pick(3))),
        };
        self.agents[0].facts.accepted += 1;
        self.feed(0, Input::Prompt(Box::new(UserInput { uuid, ..typed(content) })))
    }

    /// Nobody can be answered: the next prompt, or somebody loses patience. False where everything is done.
    pub fn begin_something(&mut self) -> Result<bool, String> {
        if self.is_over {
            return Ok(false);
        }
        let main = &self.agents[0];
        if main.turn.has_next() {
            self.feed(0, Input::Next)?;
            return Ok(true);
        }
        if main.facts.is_open {
            return self.lose_patience(0);
        }
        if let Some(at) = (1..self.agents.len()).find(|at| self.agents[*at].facts.is_open) {
            return self.lose_patience(at);
        }
        let may_prompt = !self.is_leaving && self.agents[0].facts.accepted < PROMPTS_MAX;
        if may_prompt && (self.agents[0].facts.accepted == 0 || self.happens(70)) {
            self.prompt()?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Something runs for ever. An interrupt must help.
    fn lose_patience(&mut self, at: usize) -> Result<bool, String> {
        if std::mem::replace(&mut self.agents[at].was_told_to_stop, at != 0) && at != 0 {
            return Err("an interrupted sub-agent hangs".into());
        }
        let before = self.agents[at].pending.len();
        self.feed(at, Input::Interrupt(InterruptCause::Client))?;
        let is_moving = self.agents[at].pending.iter().any(|pending| pending.is_cancelled) || !self.mail.is_empty();
        let is_over = !self.agents[at].facts.is_open;
        if is_moving || is_over { Ok(true) } else { Err(format!("a turn hangs with {before} things to wait for")) }
    }

    /// At the end: no prompt was lost, and the session can be resumed from any part of its transcript.
    pub fn check_rest(&mut self, scratch: &mut Scratch) -> Result<(), String> {
        let facts = &self.agents[0].facts;
        if !self.is_leaving && facts.accepted != facts.begun + facts.recalled {
            let (accepted, begun, recalled) = (facts.accepted, facts.begun, facts.recalled);
            return Err(format!("of {accepted} prompts {begun} began and {recalled} were taken back"));
        }
        if !self.choices.happens(20) {
            return Ok(());
        }
        let cut = if self.choices.happens(50) { self.choices.pick(1000) } else { 1000 };
        let agent = &self.agents[self.choices.pick(self.agents.len())];
        let is_whole = cut == 1000 && agent.turn.deferred().is_none();
        let messages = agent.turn.messages();
        scratch.check(&agent.entries, cut, if is_whole { &messages } else { &[] as &[Value] })
    }
}

fn typed(content: Value) -> UserInput {
    UserInput { message: UserMessage { content, ..UserMessage::default() }, ..UserInput::default() }
}

fn tools(gone: &[&str]) -> ToolTable {
    let mut table = ToolTable::default();
    for name in TOOLS.into_iter().chain(["Agent", STRUCTURED_OUTPUT]).filter(|name| !gone.contains(name)) {
        let runs_beside_others = matches!(name, "Read" | "Grep" | "Agent");
        table.tools.insert(name.to_owned(), ToolFacts { runs_beside_others, starts_subagent: name == "Agent" });
    }
    table.tools.remove("Gone");
    table.tools.remove("Task");
    table.aliases.insert("Task".into(), "Agent".into());
    table
}
