//! Many schedules, some at a time.

use crate::drive::Stage;
use crate::{draw, invariants, knobs};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// In CI: about half a minute on two cores.
const RUNS: u64 = 60;

/// Any number would do. Fixed, so that a change is judged by the same schedules as the one before it.
const SEED: u64 = 20_261_115;

/// Most of a schedule is waiting for deadlines.
const AT_ONCE: u64 = 4;

/// What is printed of a stream.
const SHOWN_LINES: usize = 60;

#[test]
fn whatever_breaks_the_promises_hold() {
    let seed = knobs::number("RALPH_FAULT_SEED", SEED);
    let runs = knobs::number("RALPH_FAULT_RUNS", RUNS);
    let at_once = knobs::number("RALPH_FAULT_PARALLEL", AT_ONCE);
    println!("{runs} schedules from RALPH_FAULT_SEED={seed}");
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= runs {
                        return;
                    }
                    if let Some(report) = one(seed.wrapping_add(number)) {
                        println!("{report}");
                        failures.lock().unwrap().push(seed.wrapping_add(number));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {runs} schedules broke something; their seeds: {failures:?}", failures.len());
}

/// Plays one schedule; a report if it broke anything.
fn one(seed: u64) -> Option<String> {
    let plan = draw::plan(seed);
    let mut stage = Stage::new(&plan);
    let seen = stage.play(&plan);
    let broken = invariants::broken(&plan, &mut stage, &seen);
    if broken.is_empty() {
        return None;
    }
    let shown: String = seen.lines.iter().take(SHOWN_LINES).map(|line| format!("{}\n", head(line))).collect();
    Some(format!(
        "RALPH_FAULT_SEED={seed} RALPH_FAULT_RUNS=1 broke:\n  {}\n{plan:#?}\nstdout:\n{shown}stderr: {}\ncode {:?} signal {:?} struck {:?} after {:?}, {} requests\n",
        broken.join("\n  "),
        head(&seen.stderr),
        seen.code,
        seen.signal,
        seen.struck,
        seen.elapsed,
        seen.requests.len(),
    ))
}

/// Lines may be long, and their beginning says what they are.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(600)]
}
