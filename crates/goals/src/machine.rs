//! The state machine of a goal: a pure function from its state and an event to its next state.
//!
//! Deliberately absent: leases and fences (the store checks them before it asks here), time, and git.

use crate::goal::{Goal, GoalState, Moment};

/// Workers that may be lost on a goal, one after the other, before it counts as what kills them.
pub const LOST_MAX: i64 = 20;

/// Rounds of review before a person is asked.
pub const ROUNDS_MAX: i64 = 3;

/// The properties of a goal that decide about its next state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalFacts {
    pub state: GoalState,
    pub attempts: i64,
    pub max_attempts: i64,
    pub rounds: i64,
    pub has_reviewer: bool,
    pub is_held: bool,
}

impl From<&Goal> for GoalFacts {
    fn from(goal: &Goal) -> Self {
        Self {
            state: goal.state,
            attempts: goal.attempts,
            max_attempts: goal.max_attempts,
            rounds: goal.rounds,
            has_reviewer: goal.spec.review.is_some(),
            is_held: goal.owner.is_some(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalEvent {
    /// The loop is done and its checks passed.
    Worked {
        changed: bool,
    },
    /// An attempt ended without success. It counts.
    AttemptFailed {
        why: String,
    },
    /// A usage limit: the slot is free until then.
    Limited {
        until: Moment,
        why: String,
    },
    /// The agent asks a person.
    Asked {
        question: String,
    },
    /// Not the agent's doing (store, network, disk): does not count, goes on at that moment.
    Trouble {
        at: Moment,
        why: String,
    },
    /// The worker gives the goal back because it was told to end.
    Released,
    /// The goal cannot go on however often it is tried.
    Hopeless {
        why: String,
    },
    Approved,
    Findings {
        text: String,
    },
    Landed {
        commit: String,
        from: Option<String>,
    },
    /// The branch has all of it already.
    NothingToLand,
    /// Conflict, failed checks: back to the agent.
    LandingRefused {
        why: String,
    },
    /// The worker that held it is gone.
    WorkerLost {
        lost: i64,
    },
    /// By people.
    Cancel,
    Answer {
        text: String,
    },
    Retry,
    Publish,
}

/// What is written. Fields that are `None` stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub state: GoalState,
    pub attempts: i64,
    pub rounds: i64,
    pub run_at: Option<Moment>,
    /// For the next attempt. An empty text clears it.
    pub context: Option<String>,
    pub question: Option<String>,
    pub error: Option<String>,
    pub landed: Option<(String, Option<String>)>,
    /// The next worker starts a new run instead of going on with the last.
    pub new_run: bool,
    /// The claim is over.
    pub releases: bool,
    /// The worker is asked to stop; it reports when it has.
    pub ask_to_cancel: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a goal that is {state} cannot be {verb}")]
pub struct NotPossible {
    pub state: GoalState,
    pub verb: &'static str,
}

pub fn step(goal: GoalFacts, happening: GoalEvent) -> Result<Change, NotPossible> {
    use GoalEvent as H;
    use GoalState::{Blocked, Cancelled, Done, Draft, Failed, Landing, Queued, Review, Running, Waiting};
    let to = |state| Change {
        state,
        attempts: goal.attempts,
        rounds: goal.rounds,
        run_at: None,
        context: None,
        question: None,
        error: None,
        landed: None,
        new_run: false,
        releases: true,
        ask_to_cancel: false,
    };
    let no = |verb| Err(NotPossible { state: goal.state, verb });
    let working = matches!(goal.state, Running | Review | Landing);
    let change = match happening {
        H::Worked { changed: false } if goal.state == Running => to(Done),
        H::Worked { changed: true } if goal.state == Running => to(if goal.has_reviewer { Review } else { Landing }),
        H::AttemptFailed { why } if goal.state == Running => another(goal, why, to),
        H::LandingRefused { why } if goal.state == Landing => another(goal, why, to),
        H::Limited { until, why } if working => Change { run_at: Some(until), error: Some(why), ..to(Waiting) },
        H::Asked { question } if goal.state == Running => {
            Change { question: Some(question), new_run: true, ..to(Blocked) }
        }
        // The reviewer has no answer: a person approves, or not.
        H::Asked { question } if goal.state == Review => {
            Change { question: Some(question), rounds: ROUNDS_MAX, new_run: true, ..to(Blocked) }
        }
        H::Trouble { at, why } if working => {
            // Landing and review go on where they are; work waits.
            let state = if goal.state == Running { Waiting } else { goal.state };
            Change { run_at: Some(at), error: Some(why), ..to(state) }
        }
        H::Hopeless { why } if working => Change { error: Some(why), ..to(Failed) },
        H::Approved if goal.state == Review => to(Landing),
        H::Findings { text } if goal.state == Review => findings(goal, text, to),
        H::Landed { commit, from } if goal.state == Landing => Change { landed: Some((commit, from)), ..to(Done) },
        H::NothingToLand if goal.state == Landing => to(Done),
        H::WorkerLost { lost } if working && lost >= LOST_MAX => {
            let why = format!("{lost} workers were lost on it, one after the other");
            Change { error: Some(why), ..to(Failed) }
        }
        H::Released | H::WorkerLost { .. } if working => to(if goal.state == Running { Queued } else { goal.state }),
        H::Cancel if goal.state.is_over() => return no("cancelled"),
        H::Cancel if goal.is_held => Change { releases: false, ask_to_cancel: true, ..to(goal.state) },
        H::Cancel => to(Cancelled),
        H::Answer { text } if goal.state == Blocked => answered(goal, text, to),
        H::Answer { .. } => return no("answered"),
        H::Retry if matches!(goal.state, Failed | Cancelled | Blocked | Waiting) => {
            let (attempts, rounds) = if goal.state == Waiting { (goal.attempts, goal.rounds) } else { (0, 0) };
            Change { attempts, rounds, run_at: Some(0), new_run: goal.state != Waiting, ..to(Queued) }
        }
        H::Retry => return no("retried"),
        H::Publish if goal.state == Draft => to(Queued),
        H::Publish => return no("queued"),
        _ => return no("changed that way"),
    };
    Ok(change)
}

/// The next attempt, with what failed as its context; or the end of them.
fn another(goal: GoalFacts, why: String, to: impl Fn(GoalState) -> Change) -> Change {
    let attempts = goal.attempts + 1;
    let state = if attempts >= goal.max_attempts { GoalState::Failed } else { GoalState::Queued };
    Change { attempts, context: Some(why.clone()), error: Some(why), new_run: true, ..to(state) }
}

/// Said where the reviewer is never content.
pub const APPROVE: &str = "approve";

fn findings(goal: GoalFacts, text: String, to: impl Fn(GoalState) -> Change) -> Change {
    let rounds = goal.rounds + 1;
    if rounds < ROUNDS_MAX {
        return Change { rounds, context: Some(text), new_run: true, ..to(GoalState::Queued) };
    }
    let question = format!(
        "After {rounds} reviews there are still findings. Answer '{APPROVE}' to land the work as it is, or say what to do.\n\n{text}"
    );
    Change { rounds, question: Some(question), context: Some(text), new_run: true, ..to(GoalState::Blocked) }
}

fn answered(goal: GoalFacts, text: String, to: impl Fn(GoalState) -> Change) -> Change {
    if goal.rounds >= ROUNDS_MAX && text.trim().eq_ignore_ascii_case(APPROVE) {
        return Change { question: Some(String::new()), ..to(GoalState::Landing) };
    }
    // A person looked at it: the reviews are counted anew.
    Change {
        rounds: 0,
        context: Some(text),
        question: Some(String::new()),
        run_at: Some(0),
        new_run: true,
        ..to(GoalState::Queued)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
