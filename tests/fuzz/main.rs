//! The bodies of the fuzz targets as ordinary tests: their corpus, and what becomes of it when it is mangled.
//!
//! A few seconds each; `RALPH_FUZZ_SECONDS=60` for a minute. Inputs come from a seed (`RALPH_FAULT_SEED`), and one
//! that breaks something is printed. Coverage-guided fuzzing of the same bodies is in `fuzz/`.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

#[path = "../../fuzz/bodies/mod.rs"]
mod bodies;
#[path = "../faults/dice.rs"]
mod dice;
#[path = "../faults/knobs.rs"]
mod knobs;
mod mangle;

use dice::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// In CI, for each target.
const SECONDS: u64 = 3;
const SEED: u64 = 20_261_115;

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            fuzz(stringify!($name));
        })*

        #[test]
        fn every_body_is_a_test_and_a_target() {
            let tests = [$(stringify!($name)),*];
            assert_eq!(bodies::ALL.map(|(name, _)| name), tests);
            for name in tests {
                assert!(folder().join(format!("fuzz_targets/{name}.rs")).is_file(), "{name}");
            }
        }
    };
}

targets! { stdin_line sse shell rules path_resolver transcript config_files recording event_stream event_stream_checksums }

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder().join("corpus").join(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.collect();
    // Whatever order the disk has them in, a seed means the same inputs.
    files.sort();
    assert!(files.len() >= 4, "the corpus of {name} is too small to start from");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[expect(clippy::print_stdout, reason = "how much was tried, and from which seed, is part of the result")]
fn fuzz(name: &str) {
    let seed = knobs::number("RALPH_FAULT_SEED", SEED);
    let until = Instant::now() + Duration::from_secs(knobs::number("RALPH_FUZZ_SECONDS", SECONDS));
    let corpus = corpus(name);
    for input in &corpus {
        hold(name, seed, input);
    }
    let mut dice = Dice::new(seed);
    let mut tried = corpus.len();
    while Instant::now() < until {
        hold(name, seed, &mangle::any(&mut dice, &corpus));
        tried += 1;
    }
    println!("{name}: {tried} inputs from RALPH_FAULT_SEED={seed}");
}

fn hold(name: &str, seed: u64, input: &[u8]) {
    let held = catch_unwind(AssertUnwindSafe(|| bodies::run(name, input)));
    assert!(held.is_ok(), "{name} broke (RALPH_FAULT_SEED={seed}) on b\"{}\"", input.escape_ascii());
}
