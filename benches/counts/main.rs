//! What a run may cost, in instructions (callgrind) and allocations (dhat), held against `baseline.txt`.
//!
//! Seconds depend on the machine and on who else uses it; these counts do not. They do depend on the compiler,
//! so a baseline is for one, and another one skips the comparison with a visible line. The binary is the one
//! that the tests have, unoptimised: what this finds is work that was added, not code generation.
//! To renew the baseline: `RALPH_COUNTS=renew cargo test -p ralph --test counts`.
#![expect(clippy::disallowed_methods, reason = "a test's own knob is read from the environment")]
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

use mock::{Script, ScriptedAnswer};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::World;

/// More work than this, in parts of the baseline, is a regression; less is noise of threads and hash seeds.
const MARGIN: f64 = 1.15;

/// An unoptimised binary under an emulator that is slow.
const DEADLINE: Duration = Duration::from_mins(5);

const RENEW: &str = "RALPH_COUNTS";

#[derive(Debug, Clone, Copy, PartialEq)]
struct Counts {
    instructions: u64,
    allocations: u64,
}

#[test]
fn a_run_costs_no_more_work_than_it_did() {
    let Some(valgrind) =
        ["/usr/bin/valgrind", "/usr/local/bin/valgrind"].map(Path::new).into_iter().find(|p| p.exists())
    else {
        println!("SKIPPED: valgrind is not installed, so nothing was counted");
        return;
    };
    let compiler = compiler();
    let renew = std::env::var(RENEW).is_ok_and(|value| value == "renew");
    let known = std::fs::read_to_string(baseline_path()).unwrap_or_default();
    if !renew && known.lines().next() != Some(compiler.as_str()) {
        println!("SKIPPED: the baseline is for another compiler than {compiler}");
        return;
    }
    let counted: BTreeMap<&str, Counts> =
        scenarios().into_iter().map(|(name, script, args)| (name, count(valgrind, &script, &args))).collect();
    if renew {
        std::fs::write(baseline_path(), written(&compiler, &counted)).expect("the baseline can be written");
        return;
    }
    let known = read(&known);
    let grown: Vec<String> = counted
        .iter()
        .flat_map(|(name, counts)| {
            let was = known.get(*name).unwrap_or_else(|| panic!("{name} has no baseline: renew it with {RENEW}=renew"));
            [
                ("instructions", counts.instructions, was.instructions),
                ("allocations", counts.allocations, was.allocations),
            ]
            .map(|(what, now, was)| (format!("{name}: {now} {what}, {was} before"), now as f64 > was as f64 * MARGIN))
        })
        .inspect(|(line, _)| println!("{line}"))
        .filter_map(|(line, grew)| grew.then_some(line))
        .collect();
    assert!(grown.is_empty(), "more work than before:\n{}\nIf it is worth it: {RENEW}=renew", grown.join("\n"));
}

/// What the counts are of: starting, an answer, tools, and a long answer in pieces.
fn scenarios() -> Vec<(&'static str, Script, Vec<&'static str>)> {
    let stream = vec!["agent", "-p", "hi", "--output-format", "stream-json", "--verbose"];
    let partial = [stream.clone(), vec!["--include-partial-messages"]].concat();
    let read = json!({"file_path": "$WD/a.txt"});
    let mut reads = vec![ScriptedAnswer::tool("Read", &read); 10];
    reads.push(ScriptedAnswer::text("Done."));
    let long = "All work and no play makes a dull day. ".repeat(1000);
    let script = |turns| Script { turns, ..Script::default() };
    vec![
        ("version", script(vec![]), vec!["--version"]),
        ("one-answer", script(vec![ScriptedAnswer::text("Hello.")]), stream.clone()),
        ("ten-reads", script(reads), stream),
        ("long-answer", script(vec![ScriptedAnswer::text(&long)]), partial),
    ]
}

fn count(valgrind: &Path, script: &Script, args: &[&str]) -> Counts {
    Counts {
        instructions: under(valgrind, script, "callgrind", "Collected : ", args),
        // "Total:     1,234 bytes in 56 blocks"
        allocations: under(valgrind, script, "dhat", " bytes in ", args),
    }
}

/// Runs once under a tool of valgrind, and takes the number behind `label` from its report.
fn under(valgrind: &Path, script: &Script, tool: &str, label: &str, args: &[&str]) -> u64 {
    let world = World::new([("a.txt", "one\ntwo\n")], script.clone()).expect("a world");
    let outcome = world
        .run(valgrind)
        .named("valgrind")
        .args([format!("--tool={tool}"), format!("--{tool}-out-file=/dev/null")])
        .args([env!("CARGO_BIN_EXE_ralph")])
        .args(args.iter().copied())
        // Git is slow beside an emulator; how much work it is to give up waiting depends on who else runs here.
        .env("RALPH_TEST_GIT_DEADLINE_MS", "60000")
        .deadline(DEADLINE)
        .finish()
        .expect("a run");
    assert_eq!(outcome.code, Some(0), "{tool} {args:?}: {}", outcome.stderr);
    let line = outcome.stderr.lines().find(|line| line.contains(label)).unwrap_or_default();
    let digits: String =
        line.split(label).nth(1).unwrap_or_default().split(' ').next().unwrap_or_default().replace(',', "");
    digits.parse().unwrap_or_else(|_| panic!("{tool} reports no count: {}", outcome.stderr))
}

fn compiler() -> String {
    let world = World::empty(Script::default()).expect("a world");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let home = std::env::var("HOME").unwrap_or_default();
    let run = world.run(Path::new(&rustc)).named("rustc").args(["--version"]).env("HOME", &home);
    let run = ["RUSTUP_HOME", "CARGO_HOME"].into_iter().fold(run, |run, name| match std::env::var(name) {
        Ok(value) => run.env(name, &value),
        Err(_) => run,
    });
    run.finish().ok().and_then(|outcome| outcome.lines.first().cloned()).unwrap_or_default()
}

fn baseline_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/counts/baseline.txt")
}

fn written(compiler: &str, counted: &BTreeMap<&str, Counts>) -> String {
    let mut text = format!("{compiler}\n");
    for (name, counts) in counted {
        let _ = writeln!(text, "{name} {} {}", counts.instructions, counts.allocations);
    }
    text
}

fn read(text: &str) -> BTreeMap<String, Counts> {
    let counts = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let mut number = || words.next()?.parse().ok();
        Some((name, Counts { instructions: number()?, allocations: number()? }))
    };
    text.lines().skip(1).filter_map(counts).collect()
}
