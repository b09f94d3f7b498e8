//! One run of a binary with scripted stdin, under a hard deadline.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start the binary under test; `process` is what some of them test"
)]

use crate::matching::{differences, substitute};
use crate::pipes::{Output, feed};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A run that takes longer hangs. Generous, because tests share two cores: a flood of a hundred thousand events took 43 s beside a
/// build. How soon something must be over is said by the tests that are about it.
const DEADLINE: Duration = Duration::from_mins(3);

/// After the exit its pipes must close this soon; otherwise something it started is still there.
const LINGER: Duration = Duration::from_secs(2);

/// A file just written may still be open in a child that another test thread is starting; nothing tells
/// when it is not, so starting it is tried for half a second.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// What happens on stdin, and between.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// One JSON line. `$REQ` is the id of the last `control_request`, `$SID` the first session id, `$TASK` the id of
    /// the last task that started.
    Send(Value),
    SendRaw(Vec<u8>),
    /// Until the next event that contains this.
    Wait(Value),
    Sleep(Duration),
    Signal(i32),
    Close,
    /// Keeps stdin open until stdout closes: a client that never says goodbye.
    Hold,
}

/// A run to be started. Stdin stays open until a [`Step::Close`] or the end of the steps.
#[derive(Debug, Clone)]
pub struct Run {
    binary: PathBuf,
    name: String,
    cwd: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    steps: Vec<Step>,
    deadline: Duration,
}

/// How it went.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Of stdout.
    pub lines: Vec<String>,
    pub stderr: String,
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// It was killed at the deadline.
    pub timed_out: bool,
    /// Something still held its stdout or stderr open a while after it had ended.
    pub lingered: bool,
    /// Waits that were never fulfilled.
    pub unmet: Vec<Value>,
    pub elapsed: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("cannot start {}: {source}; build it first", binary.display())]
    Start { binary: PathBuf, source: std::io::Error },
    #[error("lost track of {}: {why}", binary.display())]
    Lost { binary: PathBuf, why: String },
}

impl Outcome {
    /// The lines of stdout that are JSON.
    pub fn events(&self) -> Vec<Value> {
        self.lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The first session id that was named.
    pub fn session_id(&self) -> Option<String> {
        session_id(&self.lines)
    }

    /// The last event of type `result`.
    pub fn result(&self) -> Option<Value> {
        self.events().into_iter().rfind(|event| event["type"] == "result")
    }
}

impl Run {
    /// Runs `binary` under the name `claude` in `cwd`, with no environment but what [`Run::env`] adds.
    pub fn new(binary: &Path, cwd: &Path) -> Self {
        Self {
            binary: binary.into(),
            name: "claude".into(),
            cwd: cwd.into(),
            args: Vec::new(),
            env: Vec::new(),
            steps: Vec::new(),
            deadline: DEADLINE,
        }
    }

    /// Under another name than `claude`.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// In another folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.cwd = folder.into();
        self
    }

    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    #[must_use]
    pub fn send(self, line: Value) -> Self {
        self.step(Step::Send(line))
    }

    /// A prompt as stream-json clients send it.
    #[must_use]
    pub fn prompt(self, text: &str) -> Self {
        self.send(serde_json::json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    #[must_use]
    pub fn wait(self, event: Value) -> Self {
        self.step(Step::Wait(event))
    }

    #[must_use]
    pub fn signal(self, signal: i32) -> Self {
        self.step(Step::Signal(signal))
    }

    #[must_use]
    pub fn close(self) -> Self {
        self.step(Step::Close)
    }

    /// See [`Step::Hold`].
    #[must_use]
    pub fn hold(self) -> Self {
        self.step(Step::Hold)
    }

    /// Plays the steps and waits for the end. At the deadline the whole process group is killed.
    pub fn finish(self) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let deadline = started + self.deadline;
        let mut child = self.spawn().map_err(|source| RunError::Start { binary: self.binary.clone(), source })?;
        let lost = |why: &str| RunError::Lost { binary: self.binary.clone(), why: why.into() };
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(lost("it has no pipes"));
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| lost("it has no id"))?;
        let (stdout, stderr) = (Output::of(stdout), Output::of(stderr));
        let ended = watch(child);
        let unmet = play(&self.steps, pid, feed(stdin), &stdout, deadline);
        let mut outcome = Outcome { unmet, ..Outcome::default() };
        let status = ended.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let status = status.or_else(|_| {
            outcome.timed_out = true;
            kill_group(pid);
            ended.recv_timeout(LINGER)
        });
        let status = status.map_err(|_| lost("it did not end when killed"))?;
        let until = Instant::now() + LINGER;
        outcome.lingered = !stdout.wait_closed(until) || !stderr.wait_closed(until);
        if outcome.lingered {
            kill_group(pid);
        }
        (outcome.code, outcome.signal) = (status.code(), status.signal());
        outcome.lines = stdout.lines();
        outcome.stderr = stderr.lines().join("\n");
        outcome.elapsed = started.elapsed();
        Ok(outcome)
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let mut tries = 1;
        loop {
            match self.piped().spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES => {
                    tries += 1;
                    std::thread::sleep(BUSY_PAUSE);
                }
                spawned => return spawned,
            }
        }
    }

    fn piped(&self) -> Command {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }

    pub(crate) fn command(&self) -> Command {
        crate::reset_ignored_signals();
        let mut command = Command::new(&self.binary);
        command
            .arg0(&self.name)
            .args(&self.args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn time(&self) -> Duration {
        self.deadline
    }
}

/// Reaps the child as soon as it ends.
pub(crate) fn watch(mut child: Child) -> Receiver<ExitStatus> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        if let Ok(status) = child.wait() {
            // Nobody listens any more after the deadline.
            let _ = sender.send(status);
        }
    });
    receiver
}

fn kill_group(pid: Pid) {
    // All of it may be gone already.
    let _ = kill_process_group(pid, Signal::KILL);
}

/// Returns the waits that were not fulfilled. The first of them ends the play: what follows depends on it.
fn play(
    steps: &[Step],
    pid: Pid,
    stdin: std::sync::mpsc::Sender<Vec<u8>>,
    stdout: &Output,
    deadline: Instant,
) -> Vec<Value> {
    let mut stdin = Some(stdin);
    let mut seen = 0;
    for step in steps {
        match step {
            Step::Send(value) => write(stdin.as_ref(), line(value, &stdout.lines()[..])),
            Step::SendRaw(bytes) => write(stdin.as_ref(), bytes.clone()),
            Step::Wait(wanted) => {
                let found = stdout.wait_for(seen, deadline, |event| differences(wanted, event).is_empty());
                let Some(next) = found else { return vec![wanted.clone()] };
                seen = next;
            }
            Step::Sleep(pause) => std::thread::sleep(*pause),
            Step::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(*number) {
                    // It may have ended by itself.
                    let _ = kill_process(pid, signal);
                }
            }
            Step::Close => stdin = None,
            Step::Hold => {
                stdout.wait_closed(deadline);
            }
        }
    }
    Vec::new()
}

fn write(stdin: Option<&std::sync::mpsc::Sender<Vec<u8>>>, bytes: Vec<u8>) {
    if let Some(stdin) = stdin {
        // The thread on the other end stops when the child no longer reads.
        let _ = stdin.send(bytes);
    }
}

fn line(value: &Value, lines: &[String]) -> Vec<u8> {
    let last = |key: &str, kind: &str, name: &str| {
        let mut events = lines.iter().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.find(|event| event[key] == kind).and_then(|event| event[name].as_str().map(str::to_owned))
    };
    let request = last("type", "control_request", "request_id");
    let task = last("subtype", "task_started", "task_id");
    let session = session_id(lines);
    let names = [
        ("$REQ", request.as_deref().unwrap_or("$REQ")),
        ("$SID", session.as_deref().unwrap_or("$SID")),
        ("$TASK", task.as_deref().unwrap_or("$TASK")),
    ];
    format!("{}\n", substitute(value, &names)).into_bytes()
}

fn session_id(lines: &[String]) -> Option<String> {
    lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|event| event["session_id"].as_str().map(str::to_owned))
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
