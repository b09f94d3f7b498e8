//! `ralph runs`, `ralph show RUN`, `ralph answer TEXT`: what happened here, and what is asked.

use super::loop_reach;
use crate::environment::Environment;
use crate::failure::{Ended, Failure};
use crate::say;
use cycle::EventKind;
use cycle::amounts::{clock, usd};
use runner::{Folder, Lock, LockError, PlainSink, RunInfo, Sink as _};
use serde_json::{Value, json};
use wire::ExitCode;

/// Of a list; older runs are in their folders.
const LISTED: usize = 50;
/// What a line says of a run's work.
const SUBJECT_MAX: usize = 80;

/// `ralph runs [--json]`.
pub fn list(words: &[String], environment: &Environment) -> Ended {
    let json = match words {
        [] => false,
        [flag] if flag == "--json" => true,
        [word, ..] => {
            let why = format!("'ralph runs' takes no arguments but --json, and '{word}' is one.");
            return Err(Failure::usage(why));
        }
    };
    let folder = Folder::new(&environment.cwd);
    let ids = runner::list(&folder);
    if ids.is_empty() && !json {
        say::out("No runs here yet.\n");
    }
    let owner = Lock::holder(&folder);
    for id in ids.iter().take(LISTED) {
        if let Ok(info) = runner::load(&folder, id) {
            let owner = owner.as_deref();
            say::out(&if json { format!("{}\n", described(&info, owner)) } else { line(&info, owner) });
        }
    }
    Ok(ExitCode::Success)
}

/// How a run stands: its verdict, or what it does now. `owner` is who is at work in this folder.
fn standing<'a>(info: &RunInfo, owner: Option<&'a str>) -> (&'static str, Option<&'a str>) {
    let ended = info.memory.verdict.as_ref();
    let here = owner.filter(|owner| runner::live_run(owner) == Some(info.id.as_str()));
    let waits = here.is_some_and(|owner| owner.contains(super::loop_run::WATCHING));
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

fn line(info: &RunInfo, owner: Option<&str>) -> String {
    let (word, live) = standing(info, owner);
    let by = live.map_or(String::new(), |owner| format!(" ({})", cycle::clean::line(owner)));
    let (iterations, spent) = (info.memory.iterations, info.memory.spent);
    let unit = if iterations == 1 { "iteration" } else { "iterations" };
    let (time, usd) = (clock(spent.time_ms), usd(spent.usd));
    format!("{:<20} {word:<16} {iterations:>4} {unit:<10} {time:>8} {usd:>9}  {}{by}\n", info.id, subject(info))
}

/// A run for programs.
fn described(info: &RunInfo, owner: Option<&str>) -> Value {
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

/// `ralph show [RUN] [--json]`.
pub fn show(words: &[String], environment: &Environment) -> Ended {
    let folder = Folder::new(&environment.cwd);
    let json = words.iter().any(|word| word == "--json");
    let name = words.iter().find(|word| !word.starts_with('-'));
    let info = runner::load(&folder, &runner::find(&folder, name.map(String::as_str))?)?;
    let owner = Lock::holder(&folder);
    if json {
        let mut whole = described(&info, owner.as_deref());
        whole["steps"] = json!(info.steps);
        say::out(&format!("{whole}\n"));
        return Ok(ExitCode::Success);
    }
    say::out(&line(&info, owner.as_deref()));
    let mut sink = PlainSink::new(super::loop_run::Stdout).without_hints();
    for step in &info.steps {
        sink.event(step);
        if let EventKind::IterationEnded { receipt, .. } = &step.kind {
            say::out(&details(receipt));
        }
    }
    if let Some(verdict) = info.memory.verdict {
        sink.event(&EventKind::Verdict(verdict).at(0));
    }
    Ok(ExitCode::Success)
}

/// The whole of what an iteration left: the agent's summary, every file, what supports the outcome.
fn details(receipt: &cycle::Receipt) -> String {
    // An error that ended the iteration is told with it.
    let told = receipt.blocking.as_ref().is_some_and(|blocking| blocking.contains(receipt.summary.trim()));
    let summary = receipt.summary.lines().filter(|_| !told).map(str::to_owned);
    let files = receipt.changed.files.iter().map(|file| format!("{}  +{} −{}", file.path, file.added, file.removed));
    let more = Some(receipt.changed.more_files).filter(|more| *more > 0).map(|more| format!("and {more} more files"));
    let lines = summary.chain(files).chain(more).chain(receipt.evidence.iter().cloned());
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("  {}\n", cycle::clean::line(&line))).collect()
}

/// `ralph answer [RUN] TEXT…`, also with `--run RUN`.
pub fn answer(words: &[String], environment: &Environment) -> Ended {
    let folder = Folder::new(&environment.cwd);
    let (name, text) = loop_reach::split_run(&folder, words);
    if text.trim().is_empty() {
        return Err(Failure::form("usage: ralph answer [RUN] TEXT"));
    }
    // Where nothing ran, nothing asks, and nothing is made.
    runner::find(&folder, None)?;
    // Whoever holds the lock is a run at work, and takes the answer itself.
    let (question, next) = match Lock::take(&folder, "'ralph answer'") {
        Ok(_lock) => {
            let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
            let question = runner::answer(&folder, &runner::find(&folder, name)?, &text, now)?;
            (question, "'ralph resume' goes on with it.")
        }
        Err(LockError::Held { owner }) => {
            let offer = |id: &str| loop_reach::offer_answer(&folder, id, &text);
            (runner::answer_live(&folder, &owner, name, &text, offer)?, "The run goes on with it.")
        }
        Err(error) => return Err(error.into()),
    };
    say::out(&format!("Answered: {}\n{next}\n", cycle::clean::line(&question)));
    Ok(ExitCode::Success)
}
