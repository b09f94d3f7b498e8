//! Twenty thousand schedules, and every deliberate fault found.

#![expect(clippy::expect_used, reason = "a test that cannot make a folder fails")]

use ralph_simulation::{Broken, Scratch, run, run_tape, shrink};
use turn::Fault;

/// Seeds of this run. The others are for `cargo run -p ralph-simulation`.
const SCHEDULES: u64 = 20_000;

/// Schedules in which a fault must show.
const SCHEDULES_FOR_A_FAULT: u64 = 100_000;

fn tell(broken: Broken, fault: Option<Fault>) -> String {
    let mut scratch = Scratch::new().expect("a folder");
    let again = run_tape(broken.seed, broken.tape.clone(), fault, &mut scratch).err().unwrap_or(broken);
    let short = shrink(again, fault, &mut scratch);
    format!("seed {}: {}\n{}", short.seed, short.message, short.log.join("\n"))
}

fn play(from: u64) -> Option<Broken> {
    let mut scratch = Scratch::new().expect("a folder");
    (from..=SCHEDULES).step_by(2).find_map(|seed| run(seed, None, &mut scratch).err())
}

#[test]
fn no_schedule_breaks_a_rule() {
    let found = std::thread::scope(|scope| {
        let threads = [1, 2].map(|from| scope.spawn(move || play(from)));
        threads.into_iter().filter_map(|thread| thread.join().expect("a thread")).min_by_key(|broken| broken.seed)
    });
    if let Some(broken) = found {
        panic!("{}", tell(broken, None));
    }
}

#[test]
fn every_deliberate_fault_is_found() {
    let mut scratch = Scratch::new().expect("a folder");
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        let found = (1..=SCHEDULES_FOR_A_FAULT).find_map(|seed| run(seed, Some(fault), &mut scratch).err());
        match found {
            Some(broken) => println!("{fault:?}: seed {}, {}", broken.seed, broken.message),
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

#[test]
fn a_broken_schedule_becomes_short() {
    let mut scratch = Scratch::new().expect("a folder");
    let fault = Some(Fault::SecondResult);
    let found = (1..).find_map(|seed| run(seed, fault, &mut scratch).err()).expect("a broken schedule");
    let long = run_tape(found.seed, found.tape.clone(), fault, &mut scratch).expect_err("the same again");
    assert_eq!(long.message, found.message, "a tape plays the schedule that it was drawn from");
    let short = shrink(long.clone(), fault, &mut scratch);
    assert!(short.log.len() < 40 && short.log.len() <= long.log.len(), "{} lines", short.log.len());
}
