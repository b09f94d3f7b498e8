//! An agent says that all is done, and there is no check that could tell. Is it believed?

use super::effect::Effect;
use super::receipt::{Verdicts, block_on, go_on};
use crate::memory::is_change;
use crate::state::LoopState;
use crate::{IterationReport, Question, QuestionAbout, Receipt, RefusedClaim};

/// Open items that a message names; more are counted.
const ITEMS_SHOWN: usize = 10;

/// A claim without a check. Open work speaks against it, and so does a run that has changed nothing.
pub(super) fn on_claim(state: &mut LoopState, report: &IterationReport, effects: &mut Vec<Effect>) {
    let before = state.memory.refused.clone();
    match objection(state, report) {
        None => accept_claim(state, report, effects),
        // Asked for a second time, the agent stays with it: only a person can say more.
        Some(RefusedClaim::OpenItems { items }) if before == Some(RefusedClaim::OpenItems { items: items.clone() }) => {
            block_on(state, report, question(state.iteration(), &items), effects);
        }
        Some(refused) => {
            let note = note(&refused);
            go_on(state, report, Some(note), Verdicts { refused: Some(refused), ..Default::default() }, effects);
        }
    }
}

fn objection(state: &LoopState, report: &IterationReport) -> Option<RefusedClaim> {
    if !report.open_work.is_empty() {
        return Some(RefusedClaim::OpenItems { items: report.open_work.clone() });
    }
    let this = Receipt { changed: report.changed.clone(), tool_calls: report.output.tool_calls, ..Receipt::default() };
    let changed = state.memory.changed || is_change(&this);
    let asked = state.memory.refused == Some(RefusedClaim::NothingChanged);
    (!changed && !asked && state.has_another() && !state.stopping).then_some(RefusedClaim::NothingChanged)
}

fn accept_claim(state: &mut LoopState, report: &IterationReport, effects: &mut Vec<Effect>) {
    let evidence = vec!["claimed by the agent; no checks".to_owned()];
    let reason = "the agent says that all is done, and no check was run".to_owned();
    super::review::settle(state, report.clone(), evidence, reason, effects);
}

/// What the next prompt says.
fn note(refused: &RefusedClaim) -> String {
    match refused {
        RefusedClaim::OpenItems { items } => format!(
            "You said that all is done, but this is open:\n{}\nDo it, or tick it off (close it) where it is done. \
             Then say again that all is done.",
            list(items)
        ),
        RefusedClaim::NothingChanged => {
            "You said that all is done, but nothing has changed in this run. Look again: do \
             what is missing. If really nothing is left to do, say again that all is done."
                .to_owned()
        }
    }
}

fn question(iteration: u32, items: &[String]) -> Question {
    let text = format!(
        "The agent says twice that all is done, but this is open:\n{}\nTick off what is done, or say what to do.",
        list(items)
    );
    Question { iteration, id: format!("open-{iteration}"), about: QuestionAbout::Words, text, options: Vec::new() }
}

fn list(items: &[String]) -> String {
    let mut lines: Vec<String> = items.iter().take(ITEMS_SHOWN).map(|item| format!("- {item}")).collect();
    if items.len() > ITEMS_SHOWN {
        lines.push(format!("and {} more", items.len() - ITEMS_SHOWN));
    }
    lines.join("\n")
}
