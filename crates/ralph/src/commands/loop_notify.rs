//! `--notify`: somebody is called when a run needs a person, waits for a limit, or is over.

use crate::say;
use cycle::{EventKind, LoopEvent, VerdictKind};
use goals::Target;
use runner::Sink;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Shorter waits are pauses between iterations.
const LIMIT_FROM_MS: u64 = 60_000;

/// Calls are made beside the run, each on a thread of its own, and waited for at the end.
struct Calls {
    targets: Vec<Target>,
    env: process::Env,
    folder: PathBuf,
    title: String,
    made: Vec<JoinHandle<()>>,
}

/// `None` where nobody is to be called; an empty name is nobody.
pub fn sink(notify: &[String], env: &process::Env, folder: &Path) -> Option<Box<dyn Sink>> {
    let targets: Vec<Target> = notify.iter().filter(|text| !text.is_empty()).map(|text| Target::parse(text)).collect();
    let calls = Calls { targets, env: env.clone(), folder: folder.to_owned(), title: String::new(), made: Vec::new() };
    (!calls.targets.is_empty()).then(|| Box::new(calls) as Box<dyn Sink>)
}

impl Sink for Calls {
    fn event(&mut self, event: &LoopEvent) {
        if let EventKind::RunStarted(started) = &event.kind {
            self.title.clone_from(&started.title);
        }
        if let Some((name, reason)) = worth_a_call(event) {
            let value = json!({"event": name, "title": self.title, "reason": reason, "folder": self.folder});
            for target in &self.targets {
                let (target, value, env, folder) =
                    (target.clone(), value.clone(), self.env.clone(), self.folder.clone());
                self.made.extend(std::thread::Builder::new().spawn(move || call(&target, &value, &env, &folder)).ok());
            }
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // Each ends by its own deadline.
        for call in self.made.drain(..) {
            let _ = call.join();
        }
    }
}

fn call(target: &Target, event: &Value, env: &process::Env, folder: &Path) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    if let Err(why) = runtime.block_on(target.send(event, env, folder, &say::out)) {
        say::err(&format!("warning: nobody was told: {why}"));
    }
}

/// What people want to hear of, and why it is so.
fn worth_a_call(event: &LoopEvent) -> Option<(&'static str, String)> {
    match &event.kind {
        EventKind::Question(question) => Some(("blocked", question.text.clone())),
        EventKind::Waiting { until, reason, .. } if until.saturating_sub(event.at) >= LIMIT_FROM_MS => {
            Some(("limit", reason.clone()))
        }
        EventKind::Verdict(verdict) => {
            let name = match verdict.verdict {
                VerdictKind::Done => "done",
                VerdictKind::Failed => "failed",
                VerdictKind::Limit => "limit",
                VerdictKind::Stuck => "blocked",
                // Its question was told already, and who stops a run knows.
                VerdictKind::Blocked | VerdictKind::Interrupted | VerdictKind::Terminated => return None,
            };
            Some((name, verdict.reason.clone()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pauses_call_nobody() {
        let waiting = |until| EventKind::Waiting { iteration: 1, until, reason: "limit".into() }.at(1_000);
        assert_eq!(worth_a_call(&waiting(5_000)), None);
        assert_eq!(worth_a_call(&waiting(1_000_000)), Some(("limit", "limit".into())));
        assert_eq!(worth_a_call(&EventKind::Paused.at(0)), None);
    }
}
