//! `ralph runs`, `ralph show RUN`, `ralph answer TEXT`: what happened here, and what is asked.

use crate::environment::Environment;
use crate::say;
use runner::{Folder, Lock, LockError, PlainSink, RunInfo, Sink as _};
use wire::ExitCode;

/// Of a list; older runs are in their folders.
const LISTED: usize = 50;

pub fn list(environment: &Environment) -> ExitCode {
    let folder = Folder::new(&environment.cwd);
    let ids = runner::list(&folder);
    if ids.is_empty() {
        say::out("No runs here yet.\n");
    }
    let owner = Lock::holder(&folder);
    for id in ids.iter().take(LISTED) {
        if let Ok(info) = runner::load(&folder, id) {
            say::out(&line(&info, owner.as_deref()));
        }
    }
    ExitCode::Success
}

/// `owner` is who is at work in this folder.
fn line(info: &RunInfo, owner: Option<&str>) -> String {
    let ended = info.memory.verdict.as_ref();
    let here = owner.filter(|owner| runner::live_run(owner) == Some(info.id.as_str()));
    let waits = here.is_some_and(|owner| owner.contains(super::loop_run::WATCHING));
    let verdict = match ended {
        _ if waits => Some("waiting"),
        Some(verdict) if verdict.unchecked => Some("done (unchecked)"),
        verdict => verdict.map(|verdict| verdict.verdict.word()),
    };
    let live = here.filter(|_| ended.is_none() || waits);
    let by = live.map_or(String::new(), |owner| format!(" ({})", cycle::clean::line(owner)));
    let asks = live.is_some() && info.memory.question.is_some();
    let verdict = verdict.unwrap_or(match (live, asks) {
        (Some(_), true) => "asking",
        (Some(_), false) => "running",
        (None, _) => "unfinished",
    });
    let title = info.start.as_ref().map_or("", |start| start.title.as_str());
    let (iterations, usd) = (info.memory.iterations, info.memory.spent.usd);
    let title = cycle::clean::line(title);
    let unit = if iterations == 1 { "iteration" } else { "iterations" };
    format!("{:<20} {verdict:<12} {iterations:>4} {unit:<10}  ${usd:>8.2}  {title}{by}\n", info.id)
}

pub fn show(words: &[String], environment: &Environment) -> ExitCode {
    let folder = Folder::new(&environment.cwd);
    let info = runner::find(&folder, words.first().map(String::as_str)).and_then(|id| runner::load(&folder, &id));
    match info {
        Ok(info) => {
            say::out(&line(&info, Lock::holder(&folder).as_deref()));
            let mut sink = PlainSink::new(super::loop_run::Stdout);
            for (iteration, receipt) in info.receipts {
                let summary = receipt.summary.lines().next().unwrap_or_default().to_owned();
                // An error that ended the iteration is told with it.
                let told = receipt.blocking.as_ref().is_some_and(|blocking| blocking.contains(&summary));
                let summary = Some(summary).filter(|_| !told);
                let evidence = receipt.evidence.clone();
                sink.event(&cycle::EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }.at(0));
                for detail in summary.into_iter().chain(evidence).filter(|detail| !detail.is_empty()) {
                    say::out(&format!("  {}\n", cycle::clean::line(&detail)));
                }
            }
            if let Some(verdict) = info.memory.verdict {
                sink.event(&cycle::EventKind::Verdict(verdict).at(0));
            }
            ExitCode::Success
        }
        Err(error) => refuse(&error),
    }
}

/// `ralph answer [--run RUN] TEXT…`.
pub fn answer(words: &[String], environment: &Environment) -> ExitCode {
    let (name, text) = match words {
        [flag, run, rest @ ..] if flag == "--run" => (Some(run.as_str()), rest.join(" ")),
        rest => (None, rest.join(" ")),
    };
    if text.trim().is_empty() {
        say::err("usage: ralph answer [--run RUN] TEXT");
        return ExitCode::Failure;
    }
    let folder = Folder::new(&environment.cwd);
    // Where nothing ran, nothing asks, and nothing is made.
    if let Err(error) = runner::find(&folder, None) {
        return refuse(&error);
    }
    // Whoever holds the lock is a run at work, and takes the answer itself.
    let answered = match Lock::take(&folder, "'ralph answer'") {
        Ok(_lock) => {
            let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
            let question = runner::find(&folder, name).and_then(|id| runner::answer(&folder, &id, &text, now));
            question.map(|question| (question, "'ralph resume' goes on with it."))
        }
        Err(LockError::Held { owner }) => {
            let question = runner::answer_live(&folder, &owner, name, &text);
            question.map(|question| (question, "The run goes on with it."))
        }
        Err(error) => return refuse(&error),
    };
    match answered {
        Ok((question, next)) => {
            say::out(&format!("Answered: {}\n{next}\n", cycle::clean::line(&question)));
            ExitCode::Success
        }
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &dyn std::error::Error) -> ExitCode {
    say::err(&format!("error: {error}"));
    ExitCode::Failure
}
