//! Agent processes: started, spoken with, and ended with all that they started.

use acp::{ChildKey, Frame, Frames, ServerInput};
use process::{Env, Output, Piped, SpawnError, Spec, Stdin};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Lines that wait for an agent process. One that reads nothing is given up.
const LINES_MAX: usize = 256;

/// Our agent writes no line over a mebibyte; other agents may write longer ones.
const CHILD_LINE_MAX: usize = 16 * 1024 * 1024;

/// What is read at once.
const READ: usize = 64 * 1024;

/// A process that has closed its output has nothing left to do.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

pub(crate) struct Launched {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Env,
}

impl Launched {
    pub(crate) fn spawn(self) -> Result<Piped, SpawnError> {
        let spec = Spec {
            program: self.program.into(),
            args: self.args.into_iter().map(Into::into).collect(),
            cwd: self.cwd,
            env: self.env,
            stdin: Stdin::Pipe,
            output: Output::Pipes,
            arg0: None,
        };
        Piped::spawn(spec)
    }
}

/// Why an agent process cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChildError {
    #[error(transparent)]
    Start(#[from] SpawnError),
    #[error("it has no pipes")]
    NoPipes,
    #[error("it does not read its input")]
    Deaf,
}

struct Handle {
    lines: mpsc::Sender<Vec<u8>>,
    stop: Option<oneshot::Sender<Duration>>,
    task: JoinHandle<()>,
}

pub(super) struct Children {
    running: HashMap<ChildKey, Handle>,
    inputs: mpsc::Sender<ServerInput>,
}

impl Children {
    pub(super) fn new(inputs: mpsc::Sender<ServerInput>) -> Self {
        Self { running: HashMap::new(), inputs }
    }

    pub(super) fn start(&mut self, child: ChildKey, launched: Launched) -> Result<(), ChildError> {
        let mut piped = launched.spawn()?;
        let (stdin, stdout) = piped.take_pipes().ok_or(ChildError::NoPipes)?;
        let (lines, receiver) = mpsc::channel(LINES_MAX);
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(feed(stdin, receiver));
        let task = tokio::spawn(follow(child, piped, stdout, stopped, self.inputs.clone()));
        self.running.retain(|_, handle| !handle.task.is_finished());
        self.running.insert(child, Handle { lines, stop: Some(stop), task });
        Ok(())
    }

    /// A line for its stdin. An error says why it never arrives; a process that is gone says so itself.
    pub(super) fn write(&mut self, child: ChildKey, line: Vec<u8>) -> Result<(), ChildError> {
        let Some(handle) = self.running.get(&child) else { return Ok(()) };
        match handle.lines.try_send(line) {
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.stop(child, Duration::ZERO);
                Err(ChildError::Deaf)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn stop(&mut self, child: ChildKey, grace: Duration) {
        if let Some(stop) = self.running.get_mut(&child).and_then(|handle| handle.stop.take()) {
            // It may have ended already.
            let _ = stop.send(grace);
        }
    }

    /// All at once, and until they are gone.
    pub(super) async fn stop_all(mut self, grace: Duration) {
        let keys: Vec<ChildKey> = self.running.keys().copied().collect();
        for key in keys {
            self.stop(key, grace);
        }
        // A task may wait to tell what nobody takes any more.
        drop(self.inputs);
        for (_, handle) in self.running {
            let _ = timeout(grace + LEAVES_WITHIN, handle.task).await;
        }
    }
}

/// A process that does not read blocks only this task. Ends its input at the end.
pub(crate) async fn feed(mut stdin: Sender, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn follow(
    child: ChildKey,
    mut piped: Piped,
    mut stdout: Receiver,
    mut stopped: oneshot::Receiver<Duration>,
    inputs: mpsc::Sender<ServerInput>,
) {
    let mut frames = Frames::new(CHILD_LINE_MAX);
    let mut chunk = vec![0; READ];
    loop {
        let read = tokio::select! {
            biased;
            grace = &mut stopped => {
                piped.stop(grace.unwrap_or_default()).await;
                return;
            }
            read = stdout.read(&mut chunk) => read.unwrap_or(0),
        };
        let found = if read == 0 { frames.end().into_iter().collect() } else { frames.push(&chunk[..read]) };
        for frame in found {
            let Frame::Line(line) = frame else { continue };
            let line = String::from_utf8_lossy(&line).into_owned();
            let sent = tokio::select! {
                sent = inputs.send(ServerInput::Child { child, line }) => sent.is_ok(),
                grace = &mut stopped => {
                    piped.stop(grace.unwrap_or_default()).await;
                    false
                }
            };
            if !sent {
                return;
            }
        }
        if read == 0 {
            break;
        }
    }
    if timeout(LEAVES_WITHIN, piped.wait()).await.is_err() {
        piped.stop(Duration::ZERO).await;
    }
    let words = piped.stderr_tail();
    let _ = inputs.send(ServerInput::ChildEnded { child, words }).await;
}
