//! `ralph runs`, `ralph show RUN`, `ralph answer TEXT`: what happened here, and what is asked.

use super::loop_reach;
use crate::failure::{Ended, Failure};
use crate::say;
use cycle::EventKind;
use resolve::Environment;
use runner::{Folder, Lock, LockError, PlainSink, Sink as _};
use serde_json::json;
use wire::ExitCode;

/// Of a list; older runs are in their folders.
const LISTED: usize = 50;

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
            say::out(&if json {
                format!("{}\n", runner::run_json(&info, owner))
            } else {
                runner::run_line(&info, owner)
            });
        }
    }
    Ok(ExitCode::Success)
}

/// `ralph show [RUN] [--json]`.
pub fn show(words: &[String], environment: &Environment) -> Ended {
    let folder = Folder::new(&environment.cwd);
    let json = words.iter().any(|word| word == "--json");
    let name = words.iter().find(|word| !word.starts_with('-'));
    let info = runner::load(&folder, &runner::find(&folder, name.map(String::as_str))?)?;
    let owner = Lock::holder(&folder);
    if json {
        let mut whole = runner::run_json(&info, owner.as_deref());
        whole["steps"] = json!(info.steps);
        say::out(&format!("{whole}\n"));
        return Ok(ExitCode::Success);
    }
    say::out(&runner::run_line(&info, owner.as_deref()));
    let mut sink = PlainSink::new(super::loop_run::Stdout).without_hints();
    for step in &info.steps {
        sink.event(step);
        if let EventKind::IterationEnded { receipt, .. } = &step.kind {
            say::out(&runner::receipt_lines(receipt));
        }
    }
    if let Some(verdict) = info.memory.verdict {
        sink.event(&EventKind::Verdict(verdict).at(0));
    }
    Ok(ExitCode::Success)
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
