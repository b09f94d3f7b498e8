//! `ralph --rehearse FILE [--fault KIND@N]`: the same loop against a script or a recording on loopback,
//! without a token, and with what can go wrong going wrong when it is asked to.

use crate::failure::Failure;
use cycle::{EventKind, LoopEvent};
use mock::{Mock, Script, ScriptedAnswer};
use resolve::Environment;
use runner::{Auth, Folder, Job, Rehearsal, Sink};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Opens nothing anywhere.
const KEY: &str = "sk-ant-rehearsal";
/// How long the API says that a limit lasts: longer than any agent waits by itself.
const LIMIT_SECONDS: &str = "3600";
/// How long a slow tool takes unless it is said.
const SLOW: Duration = Duration::from_secs(10);

/// What is to go wrong, and in which iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    iteration: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FaultKind {
    /// The API refuses until a limit resets.
    Limit,
    /// The agent is killed.
    Crash,
    /// The agent writes half a line.
    Malformed,
    /// A tool takes its time.
    Slow(Duration),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("option '--fault' needs limit, crash, malformed or slow, with '@iteration' and for slow '=time', not '{0}'.")]
pub struct FaultError(String);

impl Fault {
    /// `limit@2`, `crash`, `slow@3=30s`.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let wrong = || FaultError(text.to_owned());
        let (head, span) = text.split_once('=').map_or((text, None), |(head, span)| (head, Some(span)));
        let (name, iteration) = head.split_once('@').unwrap_or((head, "1"));
        let iteration = iteration.parse().ok().filter(|iteration| *iteration > 0).ok_or_else(wrong)?;
        let kind = match (name, span) {
            ("limit", None) => FaultKind::Limit,
            ("crash", None) => FaultKind::Crash,
            ("malformed", None) => FaultKind::Malformed,
            ("slow", None) => FaultKind::Slow(SLOW),
            ("slow", Some(span)) => FaultKind::Slow(arguments::span(span).map_err(|_| wrong())?),
            _ => return Err(wrong()),
        };
        Ok(Self { kind, iteration })
    }

    /// What the model's side of it is; none where the agent itself goes wrong.
    fn turn(&self) -> Option<ScriptedAnswer> {
        match &self.kind {
            FaultKind::Limit => {
                let headers = [("retry-after".to_owned(), LIMIT_SECONDS.to_owned())].into();
                Some(ScriptedAnswer { headers, ..ScriptedAnswer::status(429) })
            }
            FaultKind::Slow(span) => {
                let command = format!("sleep {}", span.as_secs_f64());
                Some(ScriptedAnswer::tool("Bash", &json!({"command": command, "description": "A slow tool"})))
            }
            FaultKind::Crash | FaultKind::Malformed => None,
        }
    }
}

/// Points the job at the script. The server lives as long as the sink that is returned.
pub fn prepare(
    script: &Path,
    faults: &[Fault],
    job: &mut Job,
    environment: &Environment,
) -> Result<Box<dyn Sink>, Failure> {
    let file = environment.cwd.join(script);
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| Failure::failed(format!("{} cannot be read: {error}", file.display())))?;
    let script = Script::from_json(&text);
    let script = script.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
    let script = script.substitute("$WD", &environment.cwd.display().to_string());
    let mock = Mock::start(script).map_err(|error| Failure::failed(format!("no loopback server: {error}")))?;
    // No credential of the person's may reach a rehearsal, and no other endpoint be reached by one.
    process::scrub::credentials(&mut job.env);
    job.env.retain(|(name, _)| !name.to_string_lossy().starts_with("ANTHROPIC_"));
    job.env.push(("ANTHROPIC_BASE_URL".into(), mock.url().into()));
    job.env.push(("ANTHROPIC_API_KEY".into(), KEY.into()));
    job.auth = Auth::Ambient;
    let of = |kind: FaultKind| faults.iter().filter(|fault| fault.kind == kind).map(|fault| fault.iteration).collect();
    job.rehearsal = Some(Rehearsal { crash: of(FaultKind::Crash), malformed: of(FaultKind::Malformed) });
    // Nothing is spent, so nothing is on the person's account.
    job.account = None;
    let places = job.folder.clone();
    if let Some(position) = job.resume.as_ref().and_then(|run| read_position(&places, run)) {
        mock.seek(position);
    }
    Ok(Box::new(FaultInjector { mock, faults: faults.to_vec(), folder: places, run: None }))
}

/// Tells the model when to misbehave: an iteration is announced before its agent starts.
struct FaultInjector {
    mock: Mock,
    faults: Vec<Fault>,
    folder: Folder,
    run: Option<String>,
}

/// How far the script was played when the last iteration ended: a resumed rehearsal goes on there.
fn position_file(folder: &Folder, run: &str) -> PathBuf {
    folder.run(run).join("script_position.json")
}

fn read_position(folder: &Folder, run: &str) -> Option<(usize, usize)> {
    serde_json::from_str(&std::fs::read_to_string(position_file(folder, run)).ok()?).ok()
}

impl Sink for FaultInjector {
    fn event(&mut self, event: &LoopEvent) {
        if let EventKind::RunStarted(start) = &event.kind {
            self.run = Some(start.run.clone());
        }
        if let (EventKind::IterationEnded { .. }, Some(run)) = (&event.kind, &self.run) {
            let text = serde_json::to_string(&self.mock.position()).unwrap_or_default();
            // Where it cannot be kept, a resumed rehearsal begins its script anew.
            let _ = std::fs::write(position_file(&self.folder, run), text);
        }
        let EventKind::IterationStarted(start) = &event.kind else { return };
        if start.attempt > 1 {
            return;
        }
        for turn in self.faults.iter().filter(|fault| fault.iteration == start.iteration).filter_map(Fault::turn) {
            self.mock.interpose(turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_as_people_write_them() {
        for (text, kind, iteration) in [
            ("limit", FaultKind::Limit, 1),
            ("limit@3", FaultKind::Limit, 3),
            ("crash@2", FaultKind::Crash, 2),
            ("malformed@1", FaultKind::Malformed, 1),
            ("slow", FaultKind::Slow(SLOW), 1),
            ("slow@4=1m30s", FaultKind::Slow(Duration::from_secs(90)), 4),
        ] {
            assert_eq!(Fault::parse(text), Ok(Fault { kind, iteration }), "{text}");
        }
        for text in ["", "flood", "limit@0", "limit@x", "crash=5s", "slow=soon", "slow@", "@1"] {
            assert!(Fault::parse(text).is_err(), "{text}");
        }
    }
}
