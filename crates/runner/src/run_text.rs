//! Runs in words, for lists and programs: how a run stands, what it was for, what each iteration left.

use crate::answers::live_run;
use crate::runs::RunInfo;
use crate::waiting::WATCHING;
use cycle::amounts::{clock, usd};
use serde_json::{Value, json};

/// What a line says of a run's work.
const SUBJECT_MAX: usize = 80;

/// How a run stands: its verdict, or what it does now. `owner` is who is at work in this folder.
fn standing<'a>(info: &RunInfo, owner: Option<&'a str>) -> (&'static str, Option<&'a str>) {
    let ended = info.memory.verdict.as_ref();
    let here = owner.filter(|owner| live_run(owner) == Some(info.id.as_str()));
    let waits = here.is_some_and(|owner| owner.contains(WATCHING));
    let live = here.filter(|_| ended.is_none() || waits);
    let word = match (ended, live) {
        _ if waits => "waiting",
        (Some(verdict), _) if verdict.unchecked => "done (unchecked)",
        (Some(verdict), _) => verdict.verdict.word(),
        (None, Some(_)) if info.memory.question.is_some() => "asking",
        (None, Some(_)) => "running",
        (None, None) => "unfinished",
    };
    (word, live)
}

/// What tells a run from the others with the same prompt: the issue that it was for, or what it did last.
fn subject(info: &RunInfo) -> String {
    let mut last = info.receipts.iter().rev().map(|(_, receipt)| receipt.summary.as_str());
    let words = |text: &str| {
        let mut lines = text.lines().map(|line| line.trim_matches(|letter| " #*_`".contains(letter)));
        lines.find(|line| !line.is_empty() && !line.starts_with('<')).map(str::to_owned)
    };
    let work = info.memory.work.as_ref().map(|work| match &work.id {
        Some(id) => format!("{id} {}", work.title),
        None => work.title.clone(),
    });
    let what = work.or_else(|| last.find_map(words)).unwrap_or_default();
    let title = info.start.as_ref().map_or("", |start| start.title.as_str());
    let whole = if what.is_empty() { title.to_owned() } else { format!("{title}: {what}") };
    cycle::clean::line(&cycle::bounded(&whole, SUBJECT_MAX)).into_owned()
}

/// A run's line in a list.
pub fn run_line(info: &RunInfo, owner: Option<&str>) -> String {
    let (word, live) = standing(info, owner);
    let by = live.map_or(String::new(), |owner| format!(" ({})", cycle::clean::line(owner)));
    let (iterations, spent) = (info.memory.iterations, info.memory.spent);
    let unit = if iterations == 1 { "iteration" } else { "iterations" };
    let (time, usd) = (clock(spent.time_ms), usd(spent.usd));
    format!("{:<20} {word:<16} {iterations:>4} {unit:<10} {time:>8} {usd:>9}  {}{by}\n", info.id, subject(info))
}

/// A run for programs.
pub fn run_json(info: &RunInfo, owner: Option<&str>) -> Value {
    let (word, live) = standing(info, owner);
    json!({
        "run": info.id,
        "started": info.started,
        "state": word,
        "owner": live,
        "title": info.start.as_ref().map(|start| start.title.as_str()),
        "subject": subject(info),
        "iterations": info.memory.iterations,
        "cost_usd": info.memory.spent.usd,
        "tokens": info.memory.spent.tokens,
        "elapsed_ms": info.memory.spent.time_ms,
        "verdict": info.memory.verdict,
    })
}

/// The whole of what an iteration left: the agent's summary, every file, what supports the outcome.
pub fn receipt_lines(receipt: &cycle::Receipt) -> String {
    // An error that ended the iteration is told with it.
    let told = receipt.blocking.as_ref().is_some_and(|blocking| blocking.contains(receipt.summary.trim()));
    let summary = receipt.summary.lines().filter(|_| !told).map(str::to_owned);
    let files = receipt.changed.files.iter().map(|file| format!("{}  +{} −{}", file.path, file.added, file.removed));
    let more = Some(receipt.changed.more_files).filter(|more| *more > 0).map(|more| format!("and {more} more files"));
    let lines = summary.chain(files).chain(more).chain(receipt.evidence.iter().cloned());
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("  {}\n", cycle::clean::line(&line))).collect()
}
