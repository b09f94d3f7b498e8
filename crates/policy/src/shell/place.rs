//! The folder of a command, after the `cd`s before it.

use std::sync::Arc;

use super::word::{Certainty, Word};

/// More alternatives than this and a script is wandering, not going somewhere.
const MAX_ALTERNATIVES: usize = 4;
/// Bounds the work of resolving a chain of `cd`s; real scripts have two or three.
const MAX_STEPS: usize = 16;

/// The target of one `cd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Home,
    /// Below home.
    HomePath(String),
    Path(String),
}

/// Every chain of `cd`s that may have been taken before a command, from where the shell started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(Option<Arc<Vec<Vec<Step>>>>);

impl Default for Place {
    fn default() -> Self {
        Self(Some(Arc::new(vec![Vec::new()])))
    }
}

impl Place {
    pub(crate) const UNKNOWN: Self = Self(None);

    /// `None`: it cannot be told.
    pub fn chains(&self) -> Option<&[Vec<Step>]> {
        self.0.as_ref().map(|chains| chains.as_slice())
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        let (Some(mine), Some(theirs)) = (&self.0, &other.0) else { return Self::UNKNOWN };
        if mine == theirs {
            return self.clone();
        }
        let mut all = mine.as_ref().clone();
        all.extend(theirs.iter().filter(|chain| !mine.contains(chain)).cloned());
        if all.len() > MAX_ALTERNATIVES { Self::UNKNOWN } else { Self(Some(Arc::new(all))) }
    }

    /// After a `cd` with these operands has succeeded.
    pub(crate) fn after_cd(&self, operands: &[Word]) -> Self {
        let (Some(chains), Some(step)) = (&self.0, step(operands)) else { return Self::UNKNOWN };
        let moved: Vec<Vec<Step>> =
            chains.iter().map(|chain| chain.iter().cloned().chain([step.clone()]).collect()).collect();
        if moved.iter().any(|chain| chain.len() > MAX_STEPS) { Self::UNKNOWN } else { Self(Some(Arc::new(moved))) }
    }
}

fn step(operands: &[Word]) -> Option<Step> {
    let mut rest = operands;
    while let Some((first, others)) = rest.split_first() {
        match first.raw.as_str() {
            "-L" => rest = others,
            "--" => {
                rest = others;
                break;
            }
            // `-P` and `-` depend on what is on disk or on where the shell was before.
            flag if flag.starts_with('-') => return None,
            _ => break,
        }
    }
    match rest {
        [] => Some(Step::Home),
        [target] => match target.certainty {
            Certainty::Exact => Some(Step::Path(target.text.clone())),
            Certainty::Home if target.text.is_empty() => Some(Step::Home),
            Certainty::Home => Some(Step::HomePath(target.text.clone())),
            Certainty::Glob | Certainty::Unknown => None,
        },
        _ => None,
    }
}
