//! `cargo run --release -p ralph-soak -- [--ours PATH] [--agents N] [--turns N] [--iterations N] [--out FOLDER]`
//!
//! Prints what was measured and writes the curves as SVG. `--agents 0`, `--turns 0` and `--iterations 0` leave a part out. Build
//! what is measured with `cargo build --profile dist`; its path is the default of `--ours`.

use soak::{SoakError, plot};
use std::path::{Path, PathBuf};

const USAGE: &str = "usage: ralph-soak [--ours PATH] [--agents N] [--turns N] [--iterations N] [--out FOLDER]";

struct Asked {
    ours: PathBuf,
    agents: usize,
    turns: usize,
    iterations: usize,
    out: PathBuf,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "figures for people are what this program is for")]
fn main() -> std::process::ExitCode {
    match asked().and_then(|asked| run(&asked).map_err(|error| error.to_string())) {
        Ok(text) => {
            println!("{text}");
            std::process::ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, with arguments of its own")]
fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        ours: PathBuf::from("target/dist/ralph"),
        agents: 1000,
        turns: 10_000,
        iterations: 1000,
        out: PathBuf::from("target"),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = || value.parse().map_err(|_| USAGE.to_owned());
        match word.as_str() {
            "--ours" => asked.ours = value.into(),
            "--agents" => asked.agents = number()?,
            "--turns" => asked.turns = number()?,
            "--iterations" => asked.iterations = number()?,
            "--out" => asked.out = value.into(),
            _ => return Err(USAGE.into()),
        }
    }
    let absolute = asked.ours.canonicalize();
    asked.ours = absolute.map_err(|error| format!("{} cannot be used: {error}", asked.ours.display()))?;
    Ok(asked)
}

fn run(asked: &Asked) -> Result<String, SoakError> {
    let mut report = Vec::new();
    if asked.agents > 0 {
        let idle = soak::idle(&asked.ours, asked.agents)?;
        let file = asked.out.join("soak-agents.svg");
        write(&file, &plot::svg("Memory of all agents, idle after one answer", "agents", &idle.samples))?;
        let total = idle.samples.last().map_or(0.0, |sample| sample.mib);
        report.push(format!("{} agents idle: {total:.0} MiB together, {:.2} MiB each", idle.agents, idle.mib_each));
        report.push(format!("  {}", plot::line(&idle.samples)));
        report.push(format!("  processor while idle: {:?} a second, all together", idle.cpu_per_second));
        report.push(format!("  {} of {} left well, in {:?}", idle.left_well, idle.agents, idle.leaving));
        report.push(format!("  {}", file.display()));
    }
    if asked.turns > 0 {
        let turns = soak::turns(&asked.ours, asked.turns)?;
        let file = asked.out.join("soak-turns.svg");
        write(&file, &plot::svg("Memory of one agent over a long conversation", "turns", &turns.samples))?;
        let last = turns.samples.last().map_or(0.0, |sample| sample.mib);
        report.push(format!("{} turns in {:?}: {last:.1} MiB at the end", asked.turns, turns.took));
        report.push(format!("  {}", plot::line(&turns.samples)));
        report.push(format!("  from the second quarter to the last: {:+.2} MiB", turns.growth()));
        report.push(format!("  left well: {}; {}", turns.left_well, file.display()));
    }
    if asked.iterations > 0 {
        let night = soak::night(&asked.ours, asked.iterations)?;
        let file = asked.out.join("soak-night.svg");
        write(&file, &plot::svg("Memory of the loop over a night", "iterations", &night.samples))?;
        let word = if night.checked { "checked" } else { "unchecked" };
        report.push(format!(
            "a night: {} iterations in {:?}, {} restarts, {} put off, {} crashes; {} and {word}",
            night.iterations, night.took, night.restarts, night.put_off, night.crashes, night.verdict
        ));
        report.push(format!("  {}", plot::line(&night.samples)));
        report.push(format!("  from the first quarter of the last life to its end: {:+.2} MiB", night.growth()));
        report.push(format!("  {}", file.display()));
    }
    Ok(report.join("\n"))
}

fn write(file: &Path, text: &str) -> Result<(), SoakError> {
    std::fs::write(file, text).map_err(|source| SoakError::Io { what: "writing a picture", source })
}
