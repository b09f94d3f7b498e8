//! The shortest schedule that still breaks the same rule.

use crate::transcript::Scratch;
use crate::world::{Broken, run_tape};
use turn::Fault;

/// Tries that are worth it: a person waits.
const TRIES: usize = 4_000;

pub fn shrink(broken: Broken, fault: Option<Fault>, scratch: &mut Scratch) -> Broken {
    let mut best = broken;
    let mut tries = 0;
    let mut size = best.tape.len().next_power_of_two();
    while size > 0 && tries < TRIES {
        let mut at = 0;
        while at < best.tape.len() && tries < TRIES {
            let mut tape = best.tape.clone();
            tape.drain(at..(at + size).min(tape.len()));
            tries += 1;
            match attempt(tape, &best, fault, scratch) {
                Some(shorter) => best = shorter,
                None => at += size,
            }
        }
        size /= 2;
    }
    for at in 0..best.tape.len() {
        for value in [0, best.tape.get(at).copied().unwrap_or(0) / 2] {
            if tries >= TRIES || best.tape.get(at).is_none_or(|now| *now <= value) {
                continue;
            }
            let mut tape = best.tape.clone();
            tape[at] = value;
            tries += 1;
            if let Some(simpler) = attempt(tape, &best, fault, scratch) {
                best = simpler;
            }
        }
    }
    best
}

/// The same rule broken by a tape that is not longer.
fn attempt(tape: Vec<u16>, best: &Broken, fault: Option<Fault>, scratch: &mut Scratch) -> Option<Broken> {
    let broken = run_tape(best.seed, tape, fault, scratch).err()?;
    let is_same = broken.rule() == best.rule();
    let is_simpler = (broken.log.len(), broken.tape.len()) <= (best.log.len(), best.tape.len());
    (is_same && is_simpler).then_some(broken)
}
