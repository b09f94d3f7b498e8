//! The shortest schedule that still breaks the same rule.

use crate::transcript::Scratch;
use crate::world::{Broken, run_tape};
use turn::Fault;

/// Tries that are worth it: a person waits.
const TRIES: usize = 4_000;

pub fn shrink(broken: Broken, fault: Option<Fault>, scratch: &mut Scratch) -> Broken {
    let mut search = Search { best: broken, fault, scratch, tries: 0 };
    let mut before = usize::MAX;
    while search.best.tape.len() < before && search.tries < TRIES {
        before = search.best.tape.len();
        search.leave_out_steps();
        search.leave_out_choices();
        search.simplify();
    }
    search.best
}

struct Search<'a> {
    best: Broken,
    fault: Option<Fault>,
    scratch: &'a mut Scratch,
    tries: usize,
}

impl Search<'_> {
    /// Whole steps, many at once at first.
    fn leave_out_steps(&mut self) {
        let mut size = self.best.marks.len().next_power_of_two();
        while size > 0 {
            let mut at = 0;
            while at < self.best.marks.len() {
                let start = self.best.marks[at];
                let end = self.best.marks.get(at + size).copied().unwrap_or(self.best.tape.len());
                if !self.without(start, end) {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    fn leave_out_choices(&mut self) {
        let mut at = 0;
        while at < self.best.tape.len() {
            if !self.without(at, at + 1) {
                at += 1;
            }
        }
    }

    fn simplify(&mut self) {
        for at in 0..self.best.tape.len() {
            for value in [0, self.best.tape.get(at).copied().unwrap_or(0) / 2] {
                if self.best.tape.get(at).is_some_and(|now| *now > value) {
                    let mut tape = self.best.tape.clone();
                    tape[at] = value;
                    self.attempt(tape);
                }
            }
        }
    }

    fn without(&mut self, start: usize, end: usize) -> bool {
        let mut tape = self.best.tape.clone();
        let end = end.min(tape.len());
        if start >= end {
            return false;
        }
        tape.drain(start..end);
        self.attempt(tape)
    }

    /// Whether this tape breaks the same rule and is not longer; then it is the best.
    fn attempt(&mut self, tape: Vec<u16>) -> bool {
        if self.tries >= TRIES {
            return false;
        }
        self.tries += 1;
        let Err(broken) = run_tape(self.best.seed, tape, self.fault, self.scratch) else { return false };
        let is_simpler = (broken.log.len(), broken.tape.len()) <= (self.best.log.len(), self.best.tape.len())
            && broken.tape != self.best.tape;
        let is_better = is_simpler && broken.rule() == self.best.rule();
        if is_better {
            self.best = broken;
        }
        is_better
    }
}
