//! Plays many schedules: `--schedules N`, `--seed S` (the first), `--threads T`, `--fault NAME` (break the machine on purpose).

use ralph_simulation::{Broken, Scratch, run, run_tape, shrink};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use turn::Fault;

struct Arguments {
    schedules: u64,
    seed: u64,
    threads: u64,
    fault: Option<Fault>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            say(&format!("error: {problem}; use --schedules N --seed S --threads T --fault NAME"));
            return ExitCode::from(2);
        }
    };
    let started = Instant::now();
    let found = play(&arguments);
    let seconds = started.elapsed().as_secs_f64();
    let Some(broken) = found else {
        say(&format!("{} schedules, 0 broken, {seconds:.1} s", arguments.schedules));
        return ExitCode::SUCCESS;
    };
    tell(broken, arguments.fault);
    ExitCode::FAILURE
}

/// The first broken schedule, if any.
fn play(arguments: &Arguments) -> Option<Broken> {
    let found: Mutex<Option<Broken>> = Mutex::new(None);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..arguments.threads {
            let (found, is_over) = (&found, &is_over);
            scope.spawn(move || {
                let Ok(mut scratch) = Scratch::new() else { return };
                let mut seed = arguments.seed + thread;
                while seed < arguments.seed + arguments.schedules && !is_over.load(Ordering::Relaxed) {
                    if let Err(broken) = run(seed, arguments.fault, &mut scratch) {
                        is_over.store(true, Ordering::Relaxed);
                        let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        if found.as_ref().is_none_or(|known| broken.seed < known.seed) {
                            *found = Some(broken);
                        }
                    }
                    seed += arguments.threads;
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn tell(broken: Broken, fault: Option<Fault>) {
    say(&format!("seed {}: {}", broken.seed, broken.message));
    let Ok(mut scratch) = Scratch::new() else { return };
    let again = run_tape(broken.seed, broken.tape.clone(), fault, &mut scratch).err().unwrap_or(broken);
    let short = shrink(again, fault, &mut scratch);
    say(&format!("the shortest schedule that was found breaks: {}", short.message));
    for line in &short.log {
        say(line);
    }
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, for developers")]
fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { schedules: 20_000, seed: 1, threads: 2, fault: None };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} needs a number"));
        match name.as_str() {
            "--schedules" => arguments.schedules = number()?,
            "--seed" => arguments.seed = number()?,
            "--threads" => arguments.threads = number()?.max(1),
            "--fault" => {
                let known = Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == value);
                arguments.fault = Some(known.ok_or_else(|| format!("there is no fault {value}"))?);
            }
            other => return Err(format!("{other} is unknown")),
        }
    }
    Ok(arguments)
}

/// A reader that left has seen enough.
#[expect(clippy::disallowed_methods, reason = "a program of its own, for developers")]
fn say(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
}
