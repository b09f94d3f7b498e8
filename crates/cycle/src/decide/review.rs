//! A claim has passed its checks, and a reviewer is wanted: does it approve?

use super::effect::{Effect, emit, wake_at_the_end};
use super::ending::end;
use super::receipt::{Verdicts, block_on, finish, go_on};
use crate::review::{APPROVE, NoOpinion, Opinion, QUESTION};
use crate::state::{LoopState, Phase, Reviewing};
use crate::text::fingerprint;
use crate::{EventKind, IterationOutcome, IterationReport, Question, QuestionAbout, Tokens, VerdictKind};

/// A reviewer without a clear answer is asked again; then a person is.
const TRIES_MAX: u32 = 3;

/// The iteration is done, unless a reviewer has to say so first. `reason` is that of the verdict.
pub(super) fn settle(
    state: &mut LoopState,
    report: IterationReport,
    evidence: Vec<String>,
    reason: String,
    effects: &mut Vec<Effect>,
) {
    let waived = state.memory.review_waived;
    if state.plan.review_rounds == 0 || waived {
        let reason = if waived { format!("{reason}, and a person let it pass without review") } else { reason };
        finish(state, &report, IterationOutcome::Done, None, evidence, None, effects);
        return end(state, VerdictKind::Done, &reason, effects);
    }
    state.phase = Phase::Reviewing(Box::new(Reviewing { report, evidence, reason, tries: 0 }));
    ask(state, effects);
}

fn ask(state: &mut LoopState, effects: &mut Vec<Effect>) {
    let iteration = state.iteration();
    emit(state, EventKind::ReviewStarted { iteration }, effects);
    effects.push(Effect::Review { iteration, usd: state.allowance().usd });
    wake_at_the_end(state, effects);
}

pub(super) fn reviewed(
    state: &mut LoopState,
    opinion: Result<Opinion, NoOpinion>,
    usd: f64,
    tokens: Tokens,
    effects: &mut Vec<Effect>,
) {
    let Phase::Reviewing(mut reviewing) = std::mem::replace(&mut state.phase, Phase::New) else { return };
    let iteration = state.iteration();
    let approved = opinion == Ok(Opinion::Approved);
    let text = match &opinion {
        Ok(Opinion::Approved) => String::new(),
        Ok(Opinion::Findings(text)) => text.clone(),
        Err(why) => format!("no clear answer: {why}"),
    };
    let cost_usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    let found = matches!(opinion, Ok(Opinion::Findings(_)));
    emit(state, EventKind::Reviewed { iteration, approved, found, text, cost_usd, tokens }, effects);
    match opinion {
        Ok(Opinion::Approved) => {
            let Reviewing { report, mut evidence, reason, .. } = *reviewing;
            evidence.push("approved by a reviewer".into());
            finish(state, &report, IterationOutcome::Done, None, evidence, None, effects);
            end(state, VerdictKind::Done, &format!("{reason}, and a reviewer approves"), effects);
        }
        Ok(Opinion::Findings(findings)) if state.memory.review_rounds >= state.plan.review_rounds => {
            let rounds = state.memory.review_rounds;
            let text = format!(
                "The reviewer is not content after {rounds} rounds:\n{findings}\nAnswer '{APPROVE}' to let the work pass as it \
                 is, or say what to do."
            );
            block_on(state, &reviewing.report, question(iteration, text), effects);
        }
        Ok(Opinion::Findings(findings)) => {
            let note = format!(
                "You said that all is done, and the checks agree, but a review of your work found:\n{findings}"
            );
            let failed_check = Some(fingerprint(&findings));
            let verdicts = Verdicts { failed_check, evidence: reviewing.evidence, refused: None };
            go_on(state, &reviewing.report, Some(note), verdicts, effects);
        }
        Err(_) if reviewing.tries + 1 < TRIES_MAX && !state.stopping && state.limit_reached().is_none() => {
            reviewing.tries += 1;
            state.phase = Phase::Reviewing(reviewing);
            ask(state, effects);
        }
        Err(why) => {
            let text = format!(
                "The reviewer gave no clear answer ({why}). Answer '{APPROVE}' to let the work pass as it is, or say what to do."
            );
            block_on(state, &reviewing.report, question(iteration, text), effects);
        }
    }
}

fn question(iteration: u32, text: String) -> Question {
    Question {
        iteration,
        id: format!("{QUESTION}{iteration}"),
        about: QuestionAbout::Words,
        text,
        options: vec![APPROVE.to_owned()],
    }
}
