//! `--notify` of a run: somebody is called when the run needs a person, waits for a limit, or is over.

use crate::notify::Target;
use cycle::{EventKind, LoopEvent, VerdictKind};
use process::Env;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Shorter waits are pauses between iterations.
const LIMIT_FROM_MS: u64 = 60_000;

/// Calls are made beside the run, each on a thread of its own, and waited for at the end.
pub struct Calls {
    targets: Vec<Target>,
    env: Env,
    folder: PathBuf,
    title: String,
    made: Vec<JoinHandle<()>>,
    /// Writes to the terminal as it is.
    terminal: fn(&str),
    warn: fn(&str),
}

impl Calls {
    /// `None` where nobody is to be called; an empty name is nobody.
    pub fn new(notify: &[String], env: &Env, folder: &Path, terminal: fn(&str), warn: fn(&str)) -> Option<Self> {
        let named = notify.iter().filter(|text| !text.is_empty());
        let targets: Vec<Target> = named.map(|text| Target::parse(text)).collect();
        let calls = Self {
            targets,
            env: env.clone(),
            folder: folder.to_owned(),
            title: String::new(),
            made: Vec::new(),
            terminal,
            warn,
        };
        (!calls.targets.is_empty()).then_some(calls)
    }

    pub fn event(&mut self, event: &LoopEvent) {
        if let EventKind::RunStarted(started) = &event.kind {
            self.title.clone_from(&started.title);
        }
        let Some((name, reason)) = worth_a_call(event) else { return };
        let value = json!({"event": name, "title": self.title, "reason": reason, "folder": self.folder});
        for target in &self.targets {
            let (target, value, env, folder) = (target.clone(), value.clone(), self.env.clone(), self.folder.clone());
            let (terminal, warn) = (self.terminal, self.warn);
            let call = move || call(&target, &value, &env, &folder, terminal, warn);
            self.made.extend(std::thread::Builder::new().spawn(call).ok());
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

fn call(target: &Target, event: &Value, env: &Env, folder: &Path, terminal: fn(&str), warn: fn(&str)) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    if let Err(error) = runtime.block_on(target.send(event, env, folder, &terminal)) {
        warn(&format!("warning: nobody was told: {error}"));
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
