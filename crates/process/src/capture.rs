//! Runs a helper to its end and keeps its output: for hooks, git, credential helpers.
//!
//! Not for commands of the model: their output goes to a file (`Output::Merged`).

use crate::child::Child;
use crate::confine::Confine;
use crate::spec::{Exit, Output, SpawnError, Spec};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long after the helper's end its pipes may stay open. What the helper itself wrote is there
/// already; only a process it left behind can still hold them.
pub(crate) const PIPES_HELD: Duration = Duration::from_millis(200);

/// One read; pipes hold 64 KiB.
const READ: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct CaptureLimits {
    pub deadline: Duration,
    /// Bytes kept of each stream; the rest is read and thrown away.
    pub max_output: usize,
    /// Between asking and killing when the deadline passes.
    pub grace: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub truncated: bool,
    pub timed_out: bool,
}

/// Runs to the end or to the deadline. Dropping the future kills the helper and all it started.
pub async fn capture(spec: Spec, limits: CaptureLimits) -> Result<Captured, SpawnError> {
    follow(spec, limits, None, None).await
}

/// The same in a sandbox.
pub async fn capture_inside(spec: Spec, limits: CaptureLimits, sandbox: &dyn Confine) -> Result<Captured, SpawnError> {
    follow(spec, limits, Some(sandbox), None).await
}

/// The same, telling what it writes to both streams while it runs. Who listens too slowly misses pieces; the end of the
/// helper waits for nobody.
pub async fn capture_telling(
    spec: Spec,
    limits: CaptureLimits,
    sandbox: Option<&dyn Confine>,
    tell: &mpsc::Sender<Vec<u8>>,
) -> Result<Captured, SpawnError> {
    follow(spec, limits, sandbox, Some(tell)).await
}

async fn follow(
    mut spec: Spec,
    limits: CaptureLimits,
    sandbox: Option<&dyn Confine>,
    tell: Option<&mpsc::Sender<Vec<u8>>>,
) -> Result<Captured, SpawnError> {
    spec.output = Output::Pipes;
    let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
    let mut child = match sandbox {
        Some(sandbox) => Child::spawn_inside(spec, sandbox, &[])?,
        None => Child::spawn(spec)?,
    };
    let pipes = receiver(child.stdout.take()).and_then(|out| Ok((out, receiver(child.stderr.take())?)));
    let (out, err) = pipes.map_err(|cause| SpawnError::new(program, cwd, cause))?;

    let (mut stdout, mut stderr) = (Kept::new(limits.max_output), Kept::new(limits.max_output));
    let (exit, timed_out) = {
        let mut reading = std::pin::pin!(async { tokio::join!(stdout.fill(out, tell), stderr.fill(err, tell)) });
        let running = async {
            tokio::select! {
                exit = child.wait() => (exit, true),
                // Both pipes closed first: a daemon's way, or the moment before the end.
                _ = &mut reading => (child.wait().await, false),
            }
        };
        let in_time = timeout(limits.deadline, running).await;
        let (exit, open) = match in_time {
            Ok(done) => done,
            Err(_) => (child.stop(limits.grace).await, true),
        };
        if open {
            let _ = timeout(PIPES_HELD, reading).await;
        }
        (exit, in_time.is_err())
    };
    let truncated = stdout.cut || stderr.cut;
    Ok(Captured { exit, stdout: stdout.bytes, stderr: stderr.bytes, truncated, timed_out })
}

pub(crate) fn receiver(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Receiver> {
    let pipe = pipe.ok_or_else(|| io::Error::other("the child has no pipe"))?;
    Receiver::from_owned_fd(pipe.into())
}

struct Kept {
    bytes: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, cut: false }
    }

    async fn fill(&mut self, mut pipe: Receiver, tell: Option<&mpsc::Sender<Vec<u8>>>) {
        let mut chunk = vec![0; READ];
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            let keep = read.min(self.limit - self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..keep]);
            self.cut |= keep < read;
            if let Some(tell) = tell {
                let _ = tell.try_send(chunk[..read].to_vec());
            }
        }
    }
}
