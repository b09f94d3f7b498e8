//! What is measured: the rows of the table.

use crate::measure::{Stage, event_at, median};
use mock::{Script, ScriptedAnswer};
use process::Timed;
use serde_json::json;
use std::path::Path;

/// One row: a number where smaller is better.
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: f64,
    /// What we want: times better than the reference, or an absolute bound.
    pub target: Target,
}

#[derive(Clone, Copy)]
pub enum Target {
    Times(f64),
    AtMost(f64),
}

const STREAM: [&str; 5] = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
const TOOL_TURNS: usize = 40;
const LONG_ANSWER: usize = 2 * 1024 * 1024;
const LONG_PROMPT: usize = 1024 * 1024;
const SESSIONS: usize = 8;

pub fn all(binary: &Path, runs: usize) -> Result<Vec<Row>, String> {
    let mut rows = vec![version(binary, runs)?];
    rows.extend(one_answer(binary, runs)?);
    rows.extend(tool_turns(binary, runs.div_ceil(4))?);
    rows.push(long_answer(binary, runs.div_ceil(4))?);
    rows.push(long_prompt(binary, runs.div_ceil(2))?);
    rows.push(at_once(binary)?);
    Ok(rows)
}

fn repeat(stage: &Stage, binary: &Path, args: &[&str], runs: usize) -> Result<Vec<Timed>, String> {
    (0..runs.max(1)).map(|_| stage.run(binary, args)).collect()
}

fn of(runs: &[Timed], what: impl Fn(&Timed) -> f64) -> f64 {
    median(runs.iter().map(what).collect())
}

fn wall_ms(run: &Timed) -> f64 {
    run.wall.as_secs_f64() * 1000.0
}

fn cpu_ms(run: &Timed) -> f64 {
    run.cpu.as_secs_f64() * 1000.0
}

fn peak_mb(run: &Timed) -> f64 {
    run.peak_rss_kib as f64 / 1024.0
}

fn version(binary: &Path, runs: usize) -> Result<Row, String> {
    let stage = Stage::new(Script::default())?;
    let runs = repeat(&stage, binary, &["--version"], runs)?;
    Ok(Row { name: "--version", unit: "ms", value: of(&runs, wall_ms), target: Target::AtMost(5.0) })
}

fn one_answer(binary: &Path, runs: usize) -> Result<Vec<Row>, String> {
    let stage = Stage::new(Script { turns: vec![ScriptedAnswer::text("Hello.")], ..Script::default() })?;
    let runs = repeat(&stage, binary, &STREAM, runs)?;
    let init = of(&runs, |run| event_at(run, "system", Some("init")).unwrap_or(f64::NAN));
    let exit = of(&runs, |run| wall_ms(run) - event_at(run, "result", None).unwrap_or(f64::NAN));
    Ok(vec![
        Row { name: "one answer, wall", unit: "ms", value: of(&runs, wall_ms), target: Target::Times(60.0) },
        Row { name: "one answer, peak memory", unit: "MB", value: of(&runs, peak_mb), target: Target::AtMost(15.0) },
        Row { name: "start to init", unit: "ms", value: init, target: Target::AtMost(10.0) },
        Row { name: "result to exit", unit: "ms", value: exit, target: Target::AtMost(20.0) },
    ])
}

fn tool_turns(binary: &Path, runs: usize) -> Result<Vec<Row>, String> {
    let read = json!({"file_path": "$WD/a.txt"});
    let command = json!({"command": "echo hi"});
    let turn = |n: usize| {
        if n.is_multiple_of(2) { ScriptedAnswer::tool("Bash", &command) } else { ScriptedAnswer::tool("Read", &read) }
    };
    let mut turns: Vec<ScriptedAnswer> = (0..TOOL_TURNS).map(turn).collect();
    turns.push(ScriptedAnswer::text("Done."));
    let stage = Stage::new(Script { turns, ..Script::default() })?;
    let args: Vec<&str> = STREAM.iter().copied().chain(["--permission-mode", "acceptEdits"]).collect();
    let runs = repeat(&stage, binary, &args, runs)?;
    Ok(vec![
        Row { name: "40 tool turns, wall", unit: "ms", value: of(&runs, wall_ms), target: Target::Times(20.0) },
        Row { name: "40 tool turns, CPU", unit: "ms", value: of(&runs, cpu_ms), target: Target::Times(50.0) },
        Row { name: "40 tool turns, peak memory", unit: "MB", value: of(&runs, peak_mb), target: Target::Times(15.0) },
    ])
}

fn long_answer(binary: &Path, runs: usize) -> Result<Row, String> {
    let words = "All work and no play makes a dull day. ";
    let stage = Stage::new(Script {
        turns: vec![ScriptedAnswer::text(&words.repeat(LONG_ANSWER / words.len()))],
        ..Script::default()
    })?;
    let args: Vec<&str> = STREAM.iter().copied().chain(["--include-partial-messages"]).collect();
    let runs = repeat(&stage, binary, &args, runs)?;
    Ok(Row { name: "2 MB answer in pieces, CPU", unit: "ms", value: of(&runs, cpu_ms), target: Target::Times(40.0) })
}

fn long_prompt(binary: &Path, runs: usize) -> Result<Row, String> {
    let line = "Sum up \"this\" line of an ordinary file.\n";
    let stage = Stage::new(Script { turns: vec![ScriptedAnswer::text("Done.")], ..Script::default() })?
        .piping(line.repeat(LONG_PROMPT / line.len()));
    let runs = repeat(&stage, binary, &STREAM, runs)?;
    Ok(Row { name: "1 MB prompt, wall", unit: "ms", value: of(&runs, wall_ms), target: Target::Times(50.0) })
}

/// Peak memory of eight sessions that run at the same time, added up.
fn at_once(binary: &Path) -> Result<Row, String> {
    let slow = ScriptedAnswer { delay_ms: 300, ..ScriptedAnswer::text("Hello.") };
    let stage = Stage::new(Script { turns: vec![slow], ..Script::default() })?;
    let peaks = std::thread::scope(|scope| {
        let started: Vec<_> = (0..SESSIONS).map(|_| scope.spawn(|| stage.run(binary, &STREAM))).collect();
        let joined = started
            .into_iter()
            .map(|run| run.join().map_err(|_| "a run panicked".to_owned())?.map(|run| peak_mb(&run)));
        joined.collect::<Result<Vec<f64>, String>>()
    })?;
    Ok(Row { name: "8 sessions at once, memory", unit: "MB", value: peaks.iter().sum(), target: Target::Times(15.0) })
}
