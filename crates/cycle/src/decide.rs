//! The decision of the loop: one function from the state and an input to effects.

use crate::review::{NoOpinion, Opinion};
use crate::state::{Cut, Phase};
use crate::{
    AgentResult, CheckFinished, EventKind, IterationReport, IterationStart, IterationStarted, LoopState, Spent, Tokens,
    VerdictKind,
};

mod effect;
mod ending;
mod next;
mod receipt;
mod review;
mod claim;
mod waits;
mod iteration;

pub use effect::Effect;
use effect::{emit, wake_at_the_end};
use iteration::is_formless;
use next::next;

/// Corrections on one pipe before an iteration counts as failed.
const CORRECTIONS_MAX: u32 = 3;
const CORRECTION: &str = "Your result is missing or has the wrong form. Call the StructuredOutput tool with \
    {\"summary\": \"what you did\"}. Only if the whole goal is reached, make the summary exactly \"DONE\".";

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Start,
    /// What the running agent has used so far.
    Spending {
        tokens: Tokens,
        usd: f64,
    },
    /// The running agent ended a turn.
    TurnEnded(AgentResult),
    AgentEnded(Box<IterationReport>),
    /// This program was killed while an agent was at work; the report holds the recorded part. Comes in place of a start.
    Recovered(Box<IterationReport>),
    ChecksEnded(Vec<CheckFinished>),
    /// `Err`: the reviewer gave no clear answer, in words.
    Reviewed {
        opinion: Result<Opinion, NoOpinion>,
        usd: f64,
        tokens: Tokens,
    },
    /// `None`: it failed; the summary before it and all entries stay.
    Summarised {
        through: u32,
        summary: Option<String>,
        usd: f64,
        tokens: Tokens,
    },
    /// Time passed.
    Tick,
    Steer(String),
    Answer(String),
    Pause,
    Resume,
    /// Finish the iteration, then end.
    Stop,
    StopNow,
    Terminate,
}

/// Takes what happened at `now` and says what is to be done. After [`Effect::End`] nothing is.
pub fn decide(state: &mut LoopState, input: Input, now: u64) -> Vec<Effect> {
    state.pass_time(now);
    let mut effects = Vec::new();
    if state.is_over() {
        return effects;
    }
    match input {
        Input::Start => next(state, &mut effects),
        Input::Spending { tokens, usd } => spending(state, tokens, usd, &mut effects),
        Input::TurnEnded(answer) => turn_ended(state, &answer, &mut effects),
        Input::AgentEnded(report) => iteration::on_agent_ended(state, *report, &mut effects),
        Input::Recovered(report) => iteration::recovered(state, *report, &mut effects),
        Input::ChecksEnded(checks) => iteration::checked(state, &checks, &mut effects),
        Input::Reviewed { opinion, usd, tokens } => review::reviewed(state, opinion, usd, tokens, &mut effects),
        Input::Summarised { through, summary, usd, tokens } => {
            summarised(state, through, summary, usd, tokens, &mut effects);
        }
        Input::Tick => tick(state, &mut effects),
        Input::Steer(text) => steer(state, text, &mut effects),
        Input::Answer(text) => answer(state, text, &mut effects),
        Input::Pause => state.pausing = true,
        Input::Resume => resume(state, &mut effects),
        Input::Stop => stop(state, &mut effects),
        Input::StopNow => stop_now(state, VerdictKind::Interrupted, &mut effects),
        Input::Terminate => stop_now(state, VerdictKind::Terminated, &mut effects),
    }
    effects
}

impl IterationStart {
    /// The event that says so, once the prompt is made.
    pub fn event(&self, prompt_chars: u64) -> EventKind {
        EventKind::IterationStarted(IterationStarted {
            iteration: self.iteration,
            attempt: self.attempt,
            model: self.model.clone(),
            session: self.session.clone(),
            strategy: self.strategy.clone(),
            prompt_chars,
        })
    }
}

fn spending(state: &mut LoopState, tokens: Tokens, usd: f64, effects: &mut Vec<Effect>) {
    match &mut state.phase {
        Phase::Working(working) => {
            working.spent = Spent { time_ms: state.now.saturating_sub(working.since), usd, tokens };
            hold_limits(state, effects);
        }
        Phase::Summarising(spent) => {
            *spent = Spent { time_ms: 0, usd, tokens };
            // What it has used counts when it has ended; the limit then ends the run.
            effects.extend(state.limit_reached().map(|_| Effect::StopAgent));
        }
        _ => {}
    }
}

/// Stops an agent that runs into a limit, once.
fn hold_limits(state: &mut LoopState, effects: &mut Vec<Effect>) {
    let Phase::Working(working) = &state.phase else { return };
    if working.cut.is_some() {
        return;
    }
    let so_far = state.now.saturating_sub(working.since);
    let spent = Spent { time_ms: so_far, ..working.spent };
    let iteration = state.plan.limits.iteration.reached(spent).map(|words| format!("limit of the iteration: {words}"));
    let cut = state.limit_reached().map(Cut::Run).or_else(|| iteration.map(Cut::Iteration));
    if let (Some(cut), Phase::Working(working)) = (cut, &mut state.phase) {
        working.cut = Some(cut);
        effects.push(Effect::StopAgent);
    }
}

fn turn_ended(state: &mut LoopState, answer: &AgentResult, effects: &mut Vec<Effect>) {
    if !matches!(state.phase, Phase::Working(_)) {
        return;
    }
    if is_formless(state, answer) && state.corrections < CORRECTIONS_MAX {
        state.corrections += 1;
        effects.push(Effect::Say(CORRECTION.to_owned()));
    } else {
        effects.push(Effect::CloseInput);
    }
}

fn summarised(
    state: &mut LoopState,
    through: u32,
    summary: Option<String>,
    usd: f64,
    tokens: Tokens,
    effects: &mut Vec<Effect>,
) {
    if !matches!(state.phase, Phase::Summarising(_)) {
        return;
    }
    state.phase = Phase::New;
    let cost_usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    let event = match summary {
        Some(summary) => EventKind::Summarised { through, summary, cost_usd, tokens },
        // It is tried again after as many iterations as a summary covers.
        None => EventKind::SummaryFailed {
            through,
            reason: "the summariser gave no summary; the next prompt has the iterations themselves".to_owned(),
            cost_usd,
            tokens,
        },
    };
    emit(state, event, effects);
    next(state, effects);
}

fn tick(state: &mut LoopState, effects: &mut Vec<Effect>) {
    match &state.phase {
        Phase::Working(_) => hold_limits(state, effects),
        Phase::Waiting(until) if state.now >= *until => next(state, effects),
        Phase::Waiting(until) => effects.push(Effect::Wake(*until)),
        Phase::Summarising(_) | Phase::Checking(_) | Phase::Reviewing(_) | Phase::Asking => match state.limit_reached()
        {
            Some(reason) => iteration::out_of_time(state, &reason, effects),
            None => wake_at_the_end(state, effects),
        },
        _ => {}
    }
}

fn steer(state: &mut LoopState, text: String, effects: &mut Vec<Effect>) {
    let running = matches!(&state.phase, Phase::Working(_));
    emit(state, EventKind::Steered { iteration: state.iteration(), text: text.clone() }, effects);
    if running {
        effects.push(Effect::Say(text));
    }
}

fn answer(state: &mut LoopState, text: String, effects: &mut Vec<Effect>) {
    let Some(question) = state.memory.question.clone() else {
        return steer(state, text, effects);
    };
    emit(state, EventKind::Answered { id: question.id, text }, effects);
    if state.phase == Phase::Asking {
        next(state, effects);
    }
}

fn resume(state: &mut LoopState, effects: &mut Vec<Effect>) {
    state.pausing = false;
    if state.phase == Phase::Paused {
        emit(state, EventKind::Resumed, effects);
        next(state, effects);
    }
}

fn stop(state: &mut LoopState, effects: &mut Vec<Effect>) {
    if std::mem::replace(&mut state.stopping, true) {
        return stop_now(state, VerdictKind::Interrupted, effects);
    }
    // Where no iteration is under way there is none to finish.
    if !matches!(state.phase, Phase::Working(_) | Phase::Checking(_) | Phase::Reviewing(_)) {
        ending::end(state, VerdictKind::Interrupted, "stopped between iterations, as asked", effects);
    }
}

fn stop_now(state: &mut LoopState, verdict: VerdictKind, effects: &mut Vec<Effect>) {
    state.stopping = true;
    match &mut state.phase {
        Phase::Working(working) => {
            working.cut = Some(Cut::Person(verdict));
            effects.push(Effect::StopAgent);
        }
        _ => ending::end(state, verdict, "stopped, as asked", effects),
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
