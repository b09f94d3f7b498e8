//! The world around the machines: it executes effects, answers them in any order, and lets things happen from outside.

use crate::agent::{Agent, Parent, Pending, Work};
use crate::checker::{line_is_whole, short};
use crate::choices::Choices;
use crate::transcript::Scratch;
use std::collections::VecDeque;
use turn::{
    AgentWait, CallResult, Effect, Fault, Input, InterruptCause, Limits, Now, SubagentStatus, SubagentTask, Ticket,
    step,
};

/// After this many more steps a calm world must have come to rest.
const CALM_STEPS: usize = 600;

/// Of a hundred answers of tools: never.
const NEVER_PERCENT: usize = 5;

/// A rule that was broken, and how it came to that.
#[derive(Debug, Clone)]
pub struct Broken {
    pub seed: u64,
    pub message: String,
    pub tape: Vec<u16>,
    /// Where the steps begin on the tape.
    pub marks: Vec<usize>,
    pub log: Vec<String>,
}

impl Broken {
    /// The message without the numbers of this schedule.
    pub fn rule(&self) -> String {
        let text = self.message.split(['{', '"', '[']).next().unwrap_or_default();
        text.chars().filter(|c| !c.is_ascii_digit()).collect()
    }
}

/// How wild this schedule is.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Of a hundred hook events: answered with something.
    pub hooks: usize,
    /// Of a hundred steps: something happens from outside.
    noise: usize,
    /// Steps until the world becomes calm.
    wild_steps: usize,
    is_calm: bool,
}

pub struct World {
    pub choices: Choices,
    pub plan: Plan,
    pub agents: Vec<Agent>,
    pub limits: Limits,
    pub clock_ms: u64,
    pub spent_usd: f64,
    pub numbers: u64,
    /// Inputs that arrive before anything else.
    pub mail: VecDeque<(usize, Input)>,
    pub is_over: bool,
    /// A signal or a reader that left: queued prompts do not begin.
    pub is_leaving: bool,
    pub fault: Option<Fault>,
    log: Option<Vec<String>>,
}

/// Draws a schedule and plays it.
pub fn run(seed: u64, fault: Option<Fault>, scratch: &mut Scratch) -> Result<(), Broken> {
    play(seed, Choices::drawn(seed), fault, scratch, false)
}

/// Plays a tape, and keeps a log.
pub fn run_tape(seed: u64, tape: Vec<u16>, fault: Option<Fault>, scratch: &mut Scratch) -> Result<(), Broken> {
    play(seed, Choices::played(tape), fault, scratch, true)
}

fn play(
    seed: u64,
    choices: Choices,
    fault: Option<Fault>,
    scratch: &mut Scratch,
    keeps_log: bool,
) -> Result<(), Broken> {
    let mut world = World::new(choices, fault, keeps_log);
    let ended = world.live().and_then(|()| world.check_rest(scratch));
    ended.map_err(|message| Broken {
        seed,
        message,
        tape: world.choices.tape().to_vec(),
        marks: world.choices.marks().to_vec(),
        log: world.log.unwrap_or_default(),
    })
}

impl World {
    fn new(mut choices: Choices, fault: Option<Fault>, keeps_log: bool) -> Self {
        let plan = Plan {
            hooks: [0, 5, 20, 50][choices.pick(4)],
            noise: [0, 4, 12, 30][choices.pick(4)],
            wild_steps: 10 + choices.pick(110),
            is_calm: false,
        };
        let mut world = Self {
            choices,
            plan,
            agents: Vec::new(),
            limits: Limits::default(),
            clock_ms: 0,
            spent_usd: 0.0,
            numbers: 0,
            mail: VecDeque::new(),
            is_over: false,
            is_leaving: false,
            fault,
            log: keeps_log.then(Vec::new),
        };
        world.set_up();
        world
    }

    /// A choice; in a calm world always the plain one.
    pub fn pick(&mut self, count: usize) -> usize {
        if self.plan.is_calm { 0 } else { self.choices.pick(count) }
    }

    pub fn happens(&mut self, percent: usize) -> bool {
        !self.plan.is_calm && self.choices.happens(percent)
    }

    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn now(&self) -> Now {
        let subagents = self.agents.iter().skip(1).filter(|agent| agent.is_alive).count();
        Now { ms: self.clock_ms, spent_usd: self.spent_usd, subagents }
    }

    /// Plays until nothing is left to do.
    fn live(&mut self) -> Result<(), String> {
        for steps in 0.. {
            if steps == self.plan.wild_steps {
                self.plan.is_calm = true;
            }
            if steps > self.plan.wild_steps + CALM_STEPS {
                return Err("the world does not come to rest".into());
            }
            self.choices.mark();
            if let Some((agent, input)) = self.mail.pop_front() {
                self.feed(agent, input)?;
                continue;
            }
            self.clock_ms += 1 + self.pick(40) as u64;
            if self.happens(self.plan.noise) && !self.is_over {
                self.something_happens()?;
            } else if !self.answer_something()? && !self.begin_something()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One answer to one machine. False where nobody can be answered.
    fn answer_something(&mut self) -> Result<bool, String> {
        let mut ready = Vec::new();
        for (at, agent) in self.agents.iter().enumerate() {
            let answered = agent.pending.iter().filter(|pending| pending.can_be_answered());
            ready.extend(answered.map(|pending| (at, pending.ticket)));
        }
        if ready.is_empty() {
            return self.fire_timer();
        }
        let (agent, ticket) = ready[self.pick(ready.len())];
        self.answer_one(agent, ticket)?;
        Ok(true)
    }

    fn answer_one(&mut self, agent: usize, ticket: Ticket) -> Result<(), String> {
        let Some(mut pending) = self.agents[agent].take(ticket) else { return Ok(()) };
        let input = match pending.work {
            Work::Effect(effect) => {
                let may_call = matches!(&*effect, Effect::ExpandCommand { .. })
                    || matches!(&*effect, Effect::RunTool { name, .. } if name == "Skill");
                if may_call && !pending.is_cancelled && self.happens(40) {
                    let is_cancelled = pending.is_cancelled;
                    self.agents[agent].pending.push(Pending { ticket, work: Work::Effect(effect), is_cancelled });
                    return self.call_inside(agent, ticket);
                }
                self.answer(*effect)
            }
            Work::Stream(ref mut inputs) => {
                let Some(input) = inputs.pop_front() else { return Ok(()) };
                if !inputs.is_empty() {
                    self.agents[agent].pending.push(pending);
                } else if matches!(input, Input::AnswerFinished { .. }) {
                    self.spent_usd += 0.01 * self.pick(4) as f64;
                }
                input
            }
            Work::SubagentEnded(result, stopped) => Input::AgentFinished { ticket, result, stopped },
            _ => Input::Stopped { ticket },
        };
        self.feed(agent, input)
    }

    fn call_inside(&mut self, agent: usize, owner: Ticket) -> Result<(), String> {
        let inner = self.number();
        let input = serde_json::json!({"v": inner});
        let tool_use_id = format!("inner{inner}");
        self.feed(agent, Input::InnerCall { inner, owner, tool_use_id, name: "Bash".into(), input })
    }

    /// Time passes until the next timer.
    fn fire_timer(&mut self) -> Result<bool, String> {
        let timers = self.agents.iter().enumerate().flat_map(|(at, agent)| {
            agent.pending.iter().filter_map(move |pending| match pending.work {
                Work::Timer(when) => Some((when, at, pending.ticket)),
                _ => None,
            })
        });
        let Some((when, agent, ticket)) = timers.min_by_key(|(when, ..)| *when) else { return Ok(false) };
        self.clock_ms = self.clock_ms.max(when);
        self.agents[agent].take(ticket);
        self.feed(agent, Input::TimerFired { ticket })?;
        Ok(true)
    }

    /// One step of one machine, with everything that follows from it.
    pub fn feed(&mut self, at: usize, input: Input) -> Result<(), String> {
        if let Some(log) = &mut self.log {
            let text: String = format!("{input:?}").chars().take(220).collect();
            log.push(format!("{} agent {at} <- {text}", self.clock_ms));
        }
        self.agents[at].facts.hear(&input)?;
        let now = self.now();
        let effects = step(&mut self.agents[at].turn, input, now);
        for effect in effects {
            if let Some(log) = &mut self.log {
                log.push(format!("    -> {}", short(&effect)));
            }
            let limits = self.limits;
            let now = self.now();
            let Agent { facts, turn, .. } = &mut self.agents[at];
            facts.see(&effect, turn, &limits, now)?;
            self.execute(at, effect)?;
        }
        Ok(())
    }

    fn execute(&mut self, at: usize, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Emit { event, .. } => {
                self.numbers += 1;
                if self.numbers.is_multiple_of(8) {
                    line_is_whole(&event)?;
                }
            }
            Effect::Append(entry) => self.agents[at].entries.push(entry),
            Effect::Cancel { ticket } => self.cancel(at, ticket)?,
            Effect::SetTimer { ticket, after_ms } => self.wait(at, ticket, Work::Timer(self.clock_ms + after_ms)),
            Effect::AskModel { ticket, .. } => {
                let stream = self.stream(ticket);
                self.wait(at, ticket, Work::Stream(stream));
            }
            Effect::StartAgent { ticket, wait, .. } => {
                // Some that are waited for briefly take longer.
                let is_background = wait == AgentWait::No || wait == AgentWait::Briefly && self.happens(50);
                self.start_subagent(at, ticket, is_background)?;
            }
            Effect::RunTool { ticket, .. } | Effect::AskPermission { ticket, .. } if self.happens(NEVER_PERCENT) => {
                self.wait(at, ticket, Work::Never);
            }
            Effect::Report(report) => self.mail.push_back((0, Input::Reported(report))),
            Effect::EndTurn { .. } => self.ended(at)?,
            Effect::EndTask { result } => {
                self.ended(at)?;
                self.subagent_ended(at, result.result, result.status == SubagentStatus::Stopped);
            }
            Effect::Closed => self.is_over = true,
            other => {
                if let Some(ticket) = other.ticket() {
                    if matches!(other, Effect::ResetConversation { .. }) {
                        self.agents[at].entries.clear();
                    }
                    self.wait(at, ticket, Work::Effect(Box::new(other)));
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, at: usize, ticket: Ticket, work: Work) {
        self.agents[at].pending.push(Pending { ticket, work, is_cancelled: false });
    }

    /// Work goes, or is done already, or does not react.
    fn cancel(&mut self, at: usize, ticket: Ticket) -> Result<(), String> {
        let Some(mut pending) = self.agents[at].take(ticket) else {
            return Err(format!("ticket {} is cancelled although nobody works on it", ticket.0));
        };
        pending.work = match pending.work {
            Work::Timer(_) => return Ok(()),
            Work::Subagent(child) => {
                self.agents[child].was_told_to_stop = true;
                if !pending.is_cancelled {
                    self.mail.push_back((child, Input::Interrupt(InterruptCause::Client)));
                }
                Work::Subagent(child)
            }
            work @ (Work::SubagentEnded(..) | Work::Gone | Work::Deaf) => work,
            work @ (Work::Effect(_) | Work::Stream(_)) => match self.pick(4) {
                1 => work,
                2 => Work::Deaf,
                _ => Work::Gone,
            },
            Work::Never => {
                if self.happens(20) {
                    Work::Deaf
                } else {
                    Work::Gone
                }
            }
        };
        pending.is_cancelled = true;
        self.agents[at].pending.push(pending);
        Ok(())
    }

    fn start_subagent(&mut self, at: usize, ticket: Ticket, is_background: bool) -> Result<(), String> {
        let depth = self.agents[at].turn.role().depth() + 1;
        if depth > self.limits.subagent_depth {
            return Err(format!("a sub-agent at depth {depth}"));
        }
        if self.now().subagents >= self.limits.subagents_at_once {
            return Err(format!("{} sub-agents at once", self.now().subagents + 1));
        }
        if self.happens(8) {
            let result = CallResult::error("no checkout could be made");
            self.wait(at, ticket, Work::SubagentEnded(result, false));
            return Ok(());
        }
        let child = self.new_subagent(depth, Parent { agent: at, ticket, is_background });
        let work = if is_background {
            Work::SubagentEnded(CallResult::text("launched", serde_json::json!({})), false)
        } else {
            Work::Subagent(child)
        };
        self.wait(at, ticket, work);
        let task = SubagentTask { task: format!("task {}", self.number()), skills: Vec::new() };
        self.mail.push_back((child, Input::Task(Box::new(task))));
        Ok(())
    }

    fn subagent_ended(&mut self, child: usize, result: CallResult, stopped: bool) {
        self.agents[child].is_alive = false;
        let Some(parent) = self.agents[child].parent else { return };
        if parent.is_background {
            if !self.is_over {
                self.agents[0].facts.accepted += 1;
                self.mail.push_back((0, Input::Notice { text: "a task has finished".into() }));
            }
            return;
        }
        // Whoever waited may have given up.
        if let Some(pending) = self.agents[parent.agent].take(parent.ticket) {
            let work = Work::SubagentEnded(result, stopped);
            self.agents[parent.agent].pending.push(Pending { work, ..pending });
        }
    }

    /// Nothing that a turn began goes on after its result.
    fn ended(&mut self, at: usize) -> Result<(), String> {
        if let Some(left) = self.agents[at].pending.iter().find(|pending| !pending.is_cancelled) {
            return Err(format!("ticket {} goes on after the result", left.ticket.0));
        }
        let is_left = |agent: &Agent| {
            agent.is_alive
                && !agent.was_told_to_stop
                && agent.parent.is_some_and(|parent| parent.agent == at && !parent.is_background)
        };
        if self.agents.iter().skip(1).any(is_left) {
            return Err("a sub-agent goes on after the result".into());
        }
        Ok(())
    }
}
